#ifndef VS_ELEMENT_TYPES_H
#define VS_ELEMENT_TYPES_H

#include <stdint.h>

/*
 * The name of the type of elements that a chunk of TensorFlow is for, by TensorFlow's own number.
 * NULL: it did not say, or it is one of a later release. Static.
 */
const char *vs_element_types_get_name(uint32_t number);

#endif
