/* Linked without the dynamic linker: nothing can be preloaded into it. */
#include <stdio.h>

int main(void)
{
	puts("static");
	return 0;
}
