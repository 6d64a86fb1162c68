/* Comes behind next_caller.c in the order of search. */
__attribute__((visibility("default"))) int next_caller_marker(void);

int next_caller_marker(void)
{
	return 3;
}
