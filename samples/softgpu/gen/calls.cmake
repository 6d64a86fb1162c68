# sg_watch_calls(TARGET driver|runtime INCLUDE_DIR OUT_DIR)
#
# Puts generated functions between the API names of a library and the code behind them, so that a
# tool can watch its calls (common/calls.h). TARGET is the library or its objects. A source file
# that wants the functions as programs see them is compiled with SG_CALLS_KEEP_NAMES.
set(SG_CALLS_DIR ${CMAKE_CURRENT_LIST_DIR})
function(sg_watch_calls target api include out)
	set(generator ${SG_CALLS_DIR}/calls.py)
	add_custom_command(
		OUTPUT ${out}/${api}_calls.c ${out}/${api}_calls.h
		COMMAND ${Python3_EXECUTABLE} ${generator} ${api} ${include} ${CMAKE_C_COMPILER} ${out}
		DEPENDS ${generator} ${include}/cuda.h ${include}/cuda_runtime_api.h
		VERBATIM)
	target_sources(${target} PRIVATE ${out}/${api}_calls.c ${out}/${api}_calls.h)
	target_compile_options(${target} PRIVATE "SHELL:-include ${out}/${api}_calls.h")
	target_include_directories(${target} PRIVATE ${SG_CALLS_DIR}/../common)
	set_source_files_properties(${out}/${api}_calls.c PROPERTIES
		COMPILE_DEFINITIONS SG_CALLS_KEEP_NAMES)
endfunction()
