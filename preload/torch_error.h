#ifndef VS_TORCH_ERROR_H
#define VS_TORCH_ERROR_H

/*
 * What PyTorch throws when it has run out: the text of the exception, which names the sizes it
 * knows, belongs to the failure that was recorded just before on this thread.
 *
 * For torch_error_entry.S: takes a look at the std::string that constructor `number` of
 * torch_error.def was called with, by `caller`, and returns the real one. Keeps errno.
 */
void *vs_torch_error_note(unsigned number, const void *text, const void *caller);

#endif
