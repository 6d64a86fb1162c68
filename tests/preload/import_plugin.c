/* Asks others, by its table of imports, and has something of its own. Built in two manners. */
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT long plugin_ask_pid(void);
EXPORT long plugin_ask_parent(void);
EXPORT int plugin_a(void);
EXPORT int plugin_b(void);
EXPORT int plugin_c(void);
extern EXPORT int plugin_number;

int plugin_number = 4711;

long plugin_ask_pid(void)
{
	return getpid();
}

long plugin_ask_parent(void)
{
	return getppid();
}

int plugin_a(void)
{
	return 1;
}

int plugin_b(void)
{
	return 2;
}

int plugin_c(void)
{
	return 3;
}
