#include "shapes.h"

__attribute__((noinline)) static int hidden(int value)
{
#line 700 "library.c"
	probe("hidden at library.c:700");
	STAY();
	return value;
}

int library_entry(int value)
{
#line 800 "library.c"
	probe("library_entry at library.c:800");
	STAY();
	return hidden(value);
}
