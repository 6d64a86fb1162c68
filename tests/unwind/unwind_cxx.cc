// C++ as programs are made of it: exceptions, destructors that run because of them, closures,
// templates, threads of its own.
#include <algorithm>
#include <alloca.h>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Visit = void (*)();

// Visits when it goes out of scope, which may be because an exception passes by.
struct Leaver {
	Visit visit;
	~Leaver() { visit(); }
};

struct Node {
	virtual ~Node() = default;
	virtual int go(int depth, Visit visit) const = 0;
};

struct Throwing : Node {
	int go(int depth, Visit visit) const override
	{
		Leaver leaver{visit};

		if (depth == 0)
			throw std::runtime_error("deep");
		return go(depth - 1, visit) + 1;
	}
};

struct Closing : Node {
	int go(int depth, Visit visit) const override
	{
		std::function<int(int)> closure = [&](int left) {
			char *room = static_cast<char *>(alloca(static_cast<size_t>(left) * 7 + 1));

			room[0] = 1;
			if (left == 0)
				visit();
			return left == 0 ? room[0] : closure(left - 1) + room[0];
		};

		return closure(depth);
	}
};

struct Sorting : Node {
	int go(int depth, Visit visit) const override
	{
		std::vector<std::string> words;
		bool is_done = false;

		for (int i = 0; i < depth + 2; i++)
			words.push_back(std::string(static_cast<size_t>(i) * 3, 'a'));
		std::sort(words.begin(), words.end(), [&](const auto &a, const auto &b) {
			if (!is_done)
				visit();
			is_done = true;
			return a + "x" > b + "x";
		});
		return static_cast<int>(words.size());
	}
};

int catch_it(const Node &node, int depth, Visit visit)
{
	try {
		return node.go(depth, visit);
	} catch (const std::exception &error) {
		std::map<std::string, int> seen;

		visit(); // in a handler: the frames below are gone
		seen[error.what()]++;
		return seen["deep"];
	}
}

} // namespace

extern "C" __attribute__((visibility("default"))) int unwind_cxx_run(int depth, Visit visit)
{
	static const Throwing throwing;
	static const Closing closing;
	static const Sorting sorting;
	int sum = 0;

	for (const Node *node : {static_cast<const Node *>(&throwing),
				 static_cast<const Node *>(&closing),
				 static_cast<const Node *>(&sorting)})
		sum += catch_it(*node, depth, visit);
	return sum;
}
