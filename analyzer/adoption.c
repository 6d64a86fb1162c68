#include "adoption.h"

void vs_adoption_fini(struct vs_adoption *adoption)
{
	vs_id_map_fini(&adoption->pools);
}
