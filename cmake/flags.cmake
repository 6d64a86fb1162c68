# How our own C is compiled. Two interface targets, because not everything that takes the first
# takes the second: a library loaded by LD_AUDIT lives in a namespace without a sanitizer runtime.

option(VS_WERROR "Warnings are errors" ON)
set(VS_SANITIZE "" CACHE STRING "Empty, address (with undefined behaviour) or thread")
set_property(CACHE VS_SANITIZE PROPERTY STRINGS "" address thread)

# vs_flags: every target of ours links it.
add_library(vs_flags INTERFACE)
target_compile_options(vs_flags INTERFACE
	"$<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wundef;-Wshadow;-Wconversion>"
	"$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
	$<$<BOOL:${VS_WERROR}>:-Werror>
	# Only what is marked for export leaves a library: it shares a process with strangers.
	-fvisibility=hidden)
# A property, not an option: CMake adds -fPIC or -fPIE by the kind of target.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# vs_sanitize: everything but the audit library links it. The first finding ends the program,
# otherwise a test could print an error and pass.
add_library(vs_sanitize INTERFACE)
if(VS_SANITIZE STREQUAL "address")
	set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(VS_SANITIZE STREQUAL "thread")
	set(sanitize_flags -fsanitize=thread)
elseif(VS_SANITIZE)
	message(FATAL_ERROR "VS_SANITIZE is '${VS_SANITIZE}': it may be empty, address or thread")
endif()
if(VS_SANITIZE)
	target_compile_options(vs_sanitize INTERFACE ${sanitize_flags} -fno-omit-frame-pointer)
	target_link_options(vs_sanitize INTERFACE ${sanitize_flags})
endif()
