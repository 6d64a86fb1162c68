/* Has the name of a library and nothing of what people look for in it. */
__attribute__((visibility("default"))) int hollow(void);

int hollow(void)
{
	return 0;
}
