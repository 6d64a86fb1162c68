/* Calls back into the host, so that its own address is on the stack. Two builds of it differ by
 * name. */
__attribute__((visibility("default"))) const char *plugin_call(void (*callback)(void));

const char *plugin_call(void (*callback)(void))
{
	volatile char room[PLUGIN_ROOM];

	room[0] = 0;
	callback();
	__asm__ volatile(""); /* no tail call: the frame must stay */
	return room[0] ? "" : PLUGIN_NAME;
}
