#include "shapes.h"

namespace outer_space
{
namespace
{
__attribute__((noinline)) int anonymous(int value)
{
#line 900 "classes.cc"
	probe("outer_space::(anonymous namespace)::anonymous at classes.cc:900");
	STAY();
	return value;
}
} // namespace

template <typename T> struct tensor {
	__attribute__((noinline)) int grow(T value) const
	{
#line 1000 "classes.cc"
		probe("outer_space::tensor<float>::grow at classes.cc:1000");
		STAY();
		return (int)value;
	}

	__attribute__((always_inline)) int twice(T value) const
	{
#line 1100 "classes.cc"
		probe("outer_space::tensor<float>::twice at classes.cc:1100 < operator+ at classes.cc:1200");
		STAY();
		return (int)value * 2;
	}
};
} // namespace outer_space

__attribute__((noinline)) int operator+(const outer_space::tensor<float> &left, float right)
{
#line 1200 "classes.cc"
	int value = left.twice(right);

	STAY();
	return value;
}

__attribute__((noinline)) static int local_class(int value)
{
	struct helper {
		__attribute__((noinline)) static int method(int number)
		{
#line 1300 "classes.cc"
			probe("local_class(int)::helper::method at classes.cc:1300");
			STAY();
			return number;
		}
	};
	value = helper::method(value);
	STAY();
	return value;
}

int main(int argc, char **)
{
	outer_space::tensor<float> tensor;

	print_modules();
	argc += outer_space::anonymous(argc);
	argc += tensor.grow(1.0f) + (tensor + 2.0f) + local_class(argc);
#line 1400 "classes.cc"
	probe("main at classes.cc:1400");
	return argc < 0;
}
