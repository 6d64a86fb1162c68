/* Who may use whose memory. */
#include "rig.h"

static CUcontext contexts[3]; /* of devices 0, 1, 2; 0 is current */

static int begin(void **state)
{
	(void)state;
	assert_ok(cuInit(0));
	for (int d = 2; d >= 0; d--)
		assert_ok(cuCtxCreate(&contexts[d], NULL, 0, d));
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int d = 0; d < 3; d++)
		if (contexts[d])
			assert_ok(cuCtxDestroy(contexts[d]));
	return 0;
}

static void test_all_devices_are_peers_but_of_themselves(void **state)
{
	int can = -1;

	(void)state;
	for (int a = 0; a < 3; a++) {
		for (int b = 0; b < 3; b++) {
			assert_ok(cuDeviceCanAccessPeer(&can, a, b));
			assert_int_equal(can, a != b);
		}
	}
	assert_result(cuDeviceCanAccessPeer(&can, 0, 3), CUDA_ERROR_INVALID_DEVICE);
	assert_result(cuDeviceCanAccessPeer(&can, -1, 0), CUDA_ERROR_INVALID_DEVICE);
	assert_invalid(cuDeviceCanAccessPeer(NULL, 0, 1));
}

static void test_access_is_enabled_once_and_disabled_once(void **state)
{
	(void)state;
	assert_result(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
	assert_result(cuCtxEnablePeerAccess(contexts[1], 0),
		      CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	assert_ok(cuCtxEnablePeerAccess(contexts[2], 0));
	assert_ok(cuCtxDisablePeerAccess(contexts[1]));
	assert_result(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
	assert_ok(cuCtxDisablePeerAccess(contexts[2]));
}

static void test_access_goes_one_way(void **state)
{
	(void)state;
	assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
	assert_ok(cuCtxSetCurrent(contexts[1]));
	assert_result(cuCtxDisablePeerAccess(contexts[0]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_ok(cuCtxEnablePeerAccess(contexts[0], 0));
}

static void test_what_cannot_be_a_peer_is_an_error(void **state)
{
	CUcontext twin;
	int local;

	(void)state;
	assert_invalid(cuCtxEnablePeerAccess(contexts[1], 1));
	assert_result(cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxEnablePeerAccess((CUcontext)(void *)&local, 0),
		      CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuCtxDisablePeerAccess((CUcontext)(void *)&local),
		      CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuCtxCreate(&twin, NULL, 0, 0));
	assert_result(cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	assert_ok(cuCtxDestroy(twin));
}

static void test_access_goes_with_either_context(void **state)
{
	CUcontext primary, again;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&primary, 1));
	assert_ok(cuCtxEnablePeerAccess(primary, 0));
	assert_ok(cuDevicePrimaryCtxRelease(1));
	assert_ok(cuDevicePrimaryCtxRetain(&again, 1));
	/* The handle is the same, what was enabled for it is gone. */
	assert_ptr_equal(primary, again);
	assert_ok(cuCtxEnablePeerAccess(again, 0));
	assert_ok(cuCtxDisablePeerAccess(again));
	assert_ok(cuCtxSetCurrent(again));
	assert_ok(cuCtxEnablePeerAccess(contexts[2], 0));
	assert_ok(cuDevicePrimaryCtxReset(1));
	assert_ok(cuDevicePrimaryCtxRelease(1));
	assert_ok(cuDevicePrimaryCtxRetain(&again, 1));
	assert_ok(cuCtxSetCurrent(again));
	assert_result(cuCtxDisablePeerAccess(contexts[2]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_ok(cuDevicePrimaryCtxRelease(1));
	assert_ok(cuCtxSetCurrent(contexts[0]));
}

static void test_links_are_those_of_pci_express(void **state)
{
	int value = -1;

	(void)state;
	assert_ok(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
	assert_int_equal(value, 1);
	assert_ok(cuDeviceGetP2PAttribute(
		&value, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 0, 1));
	assert_int_equal(value, 1);
	assert_ok(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 2, 1));
	assert_int_equal(value, 0);
	value = -1;
	assert_ok(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
					  0, 1));
	assert_int_equal(value, 0);
	assert_invalid(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)77, 0, 1));
	assert_invalid(
		cuDeviceGetP2PAttribute(NULL, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
	assert_result(
		cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
		CUDA_ERROR_INVALID_DEVICE);
	assert_result(
		cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 3),
		CUDA_ERROR_INVALID_DEVICE);
}

static void test_links_do_no_atomic_operation(void **state)
{
	CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS};
	unsigned able[2] = {9, 9};

	(void)state;
	assert_ok(cuDeviceGetP2PAtomicCapabilities(able, operations, 2, 0, 1));
	assert_int_equal(able[0] | able[1], 0);
	assert_result(cuDeviceGetP2PAtomicCapabilities(able, operations, 2, 0, 0),
		      CUDA_ERROR_INVALID_DEVICE);
	assert_invalid(cuDeviceGetP2PAtomicCapabilities(able, operations, 0, 0, 1));
	assert_invalid(cuDeviceGetP2PAtomicCapabilities(able, NULL, 2, 0, 1));
	operations[1] = (CUatomicOperation)99;
	assert_invalid(cuDeviceGetP2PAtomicCapabilities(able, operations, 2, 0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_all_devices_are_peers_but_of_themselves),
		TEST(test_access_is_enabled_once_and_disabled_once),
		TEST(test_access_goes_one_way),
		TEST(test_what_cannot_be_a_peer_is_an_error),
		TEST(test_access_goes_with_either_context),
		TEST(test_links_are_those_of_pci_express),
		TEST(test_links_do_no_atomic_operation),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=3",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
