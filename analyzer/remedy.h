#ifndef VS_REMEDY_H
#define VS_REMEDY_H

#include "device_state.h"
#include "framework.h"
#include "usual_peak.h"

/*
 * What would help, by the verdict and the framework: docs/analyses.md, "Remedies". One table; a row
 * is left out if the trace says that it is done already, or that it cannot help.
 */
#define VS_REMEDIES_MAX 8
#define VS_REMEDY_TEXT  512

/* What the rows look at, and what they put into their words. */
struct vs_remedy_facts {
	enum vs_framework framework; /* whose memory it is about */
	const struct vs_why *why;
	const char *site;   /* where it comes from, `file:line function`; NULL: not known */
	const char *holder; /* name of the pool that keeps what it does not use, or NULL */
	uint64_t limit_size;
	uint64_t live_bytes;

	/* Settings, and what the program does already. */
	bool is_expandable;
	bool has_split_limit;
	bool is_async;             /* the framework uses the driver's pools */
	bool is_growing_pool;      /* of TensorFlow: it was told to take memory as needed */
	bool is_not_preallocating; /* JAX: the same */
	bool has_fraction;
	bool has_autocast;
	bool has_checkpoints;
	bool has_graph_function; /* tf.function */
	bool has_mixed_policy;   /* of Keras */
	bool has_data_pipeline;  /* tf.data */

	/* Of what is live, where that is known. */
	bool is_composed;
	uint64_t batch_bytes; /* grows with the batch: activations, inputs, temporaries */
	uint64_t activation_bytes;
	uint64_t fixed_bytes;  /* parameters, gradients, optimizer state */
	bool is_request_fixed; /* what failed was for one of these */

	bool is_own_pool;      /* the framework's own pool failed */
	uint64_t holder_holes; /* of `holder`, if it cannot give back anything */
	bool is_driver_holder; /* `holder` is a pool of the driver */
	bool is_torch_holder;
	bool is_tensorflow_holder;
	bool has_graph_pools;       /* private ones hold memory */
	bool has_varying_sizes;     /* the site that failed asks for now more, now less */
	bool has_steps;             /* the program does something again and again */
	bool has_forward_growth;    /* what grows is made when a module is called */
	bool has_backward;          /* of PyTorch: something is learnt */
	struct vs_usual_peak usual; /* of the device; 0 peaks: it was of no interest */
	bool is_pin_fixed;          /* what cuts the holes is a parameter, a gradient or the like */
	bool may_load;              /* what grows may be a model that is loaded */
};

struct vs_remedy {
	const char *id; /* "smaller-batch" */
	char text[VS_REMEDY_TEXT];
};

/* In order of their weight; at most VS_REMEDIES_MAX. Returns how many. */
size_t vs_remedy_choose(const struct vs_remedy_facts *facts, struct vs_remedy *remedies);

/*
 * The same from a trace. state: judged. about: the site of the analysis that the verdict is about,
 * and how the caller shows it; or NULL.
 */
VS_MUST_CHECK int vs_remedy_find(struct vs_story *story, const struct vs_device_state *state,
				 const struct vs_site *about, const char *site,
				 struct vs_remedy *remedies, size_t *nr_remedies);

#endif
