# Tests and benchmarks.

if(BUILD_TESTING)
	find_path(CMOCKA_INCLUDE_DIR cmocka.h)
	find_library(CMOCKA_LIBRARY cmocka)
	if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY)
		message(FATAL_ERROR
			"cmocka is missing: run ./dev setup, or configure with -DBUILD_TESTING=OFF")
	endif()
endif()

# vs_register_test(NAME x COMMAND cmd arg... [ENV K=V ...] [LABELS ...])
#
# Any command as a test: exit 0 passes, 77 skips (its last line of output is the reason), all else
# fails. Labels that mean something to ./dev: `threads` runs under ThreadSanitizer too, `noasan` does
# not run under AddressSanitizer (a program that is not ours cannot load a sanitized library).
function(vs_register_test)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "COMMAND;ENV;LABELS")
	# Later settings win, so a test can change any of these.
	set(env
		LD_LIBRARY_PATH=${VS_SOFTGPU_OUT}
		ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
		# Drawing text loads fontconfig, which keeps what it read until the program ends.
		LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/pictures/leaks_of_others.txt:print_suppressions=0
		UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
		TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
		${arg_ENV})
	add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
	set_tests_properties(${arg_NAME} PROPERTIES
		ENVIRONMENT "${env}"
		LABELS "${arg_LABELS}"
		SKIP_RETURN_CODE 77
		TIMEOUT 900) # a hang, not a measurement: no test comes near it, on a busy machine either
endfunction()

# vs_skip_test(NAME x REASON "text")
#
# Stands in for a test that cannot be built here, so that it is missed aloud.
function(vs_skip_test)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;REASON" "")
	vs_register_test(NAME ${arg_NAME} COMMAND sh -c "echo '${arg_REASON}'; exit 77")
endfunction()

# vs_add_test(NAME x SOURCES a.c ... [LIBS ...] [ENV K=V ...] [LABELS ...])
#
# A cmocka program, target x, and the test x that runs it.
function(vs_add_test)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS;ENV;LABELS")
	add_executable(${arg_NAME} ${arg_SOURCES})
	target_include_directories(${arg_NAME} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
	target_link_libraries(${arg_NAME} PRIVATE
		vs_flags vs_sanitize ${arg_LIBS} ${CMOCKA_LIBRARY} Threads::Threads)
	set_target_properties(${arg_NAME} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	vs_register_test(NAME ${arg_NAME} COMMAND ${arg_NAME}
		ENV ${arg_ENV} LABELS ${arg_LABELS})
endfunction()

# vs_add_fuzzer(NAME x SOURCES a.c ... [LIBS ...] [ARGS ...] [DEFINES ...] [INCLUDES ...])
#
# A libFuzzer program, and a short run of it from a fixed seed as the test x, label `fuzz`. Only where
# the compiler is clang and the build is not sanitized otherwise: it brings its own sanitizers.
function(vs_add_fuzzer)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS;ARGS;DEFINES;INCLUDES")
	if(VS_SANITIZE OR NOT CMAKE_C_COMPILER_ID MATCHES Clang)
		return()
	endif()
	add_executable(${arg_NAME} ${arg_SOURCES})
	target_include_directories(${arg_NAME} PRIVATE ${arg_INCLUDES})
	target_compile_definitions(${arg_NAME} PRIVATE ${arg_DEFINES})
	target_compile_options(${arg_NAME} PRIVATE -fsanitize=fuzzer,address,undefined)
	target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer,address,undefined)
	target_link_libraries(${arg_NAME} PRIVATE vs_flags ${arg_LIBS} Threads::Threads)
	set_target_properties(${arg_NAME} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
	vs_register_test(NAME ${arg_NAME}
		COMMAND ${arg_NAME} -runs=50000 -seed=1 -verbosity=0 ${arg_ARGS} LABELS fuzz)
endfunction()

# vs_add_bench(NAME x SOURCES a.c ... [LIBS ...])
#
# A program of ./dev bench, in bench/; tests/bench/run.py says which part runs it. No test: what it
# measures decides nothing.
function(vs_add_bench)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
	add_executable(${arg_NAME} ${arg_SOURCES})
	target_link_libraries(${arg_NAME} PRIVATE
		vs_flags vs_sanitize ${arg_LIBS} Threads::Threads)
	set_target_properties(${arg_NAME} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()
