# Unmodified CUDA programs, compiled by nvcc. Each is compiled once and linked three times:
#
#   audit   for the shared runtime, with the folder of NVIDIA's own in DT_RPATH; run by softgpu-run
#   path    for the shared runtime; run with LD_LIBRARY_PATH and nothing else
#   static  -cudart none and our archive; run with LD_LIBRARY_PATH, for the driver
#
# Sanitized builds have no audit variant: a sanitizer's runtime cannot be loaded that way.

if(VS_SANITIZE STREQUAL "thread")
	return() # none of these has threads of its own to speak of
endif()
if(NOT VS_HAVE_NVCC)
	vs_skip_test(NAME e2e_programs REASON "nvcc not found: CUDA programs are not compiled and not run")
	return()
endif()

set(e2e_arch 90) # of the device that softgpu describes when nothing else is asked for
set(e2e_out ${CMAKE_CURRENT_BINARY_DIR}/programs)
file(MAKE_DIRECTORY ${e2e_out})
set(nvcc_flags -std=c++17 -g -arch=sm_${e2e_arch} -DE2E_ARCH=${e2e_arch}
	-Xcompiler=-Wall,-Wextra,-fPIC -Werror=all-warnings)
set(nvcc_link -arch=sm_${e2e_arch})
set(e2e_variants audit path static)
if(VS_SANITIZE)
	# One by one: nvcc takes commas for itself.
	set(flags -Xcompiler=-fsanitize=address -Xcompiler=-fsanitize=undefined
		-Xcompiler=-fno-sanitize-recover=all)
	list(APPEND nvcc_flags ${flags})
	list(APPEND nvcc_link ${flags})
	set(e2e_variants path static)
endif()
set(link_audit -cudart shared -Xlinker=-rpath,${VS_REAL_CUDART_DIR} -Xlinker=--disable-new-dtags)
set(link_path -cudart shared)
set(link_static -cudart none)
set(library_static ${archive} -ldl -lpthread)

set(e2e_files)

# e2e_compile(out source flag...): the object file of a .cu file.
function(e2e_compile out source)
	set(object ${e2e_out}/${source}.o)
	if("-gencode" IN_LIST ARGN) # knows its architectures itself
		list(REMOVE_ITEM nvcc_flags -arch=sm_${e2e_arch})
	endif()
	add_custom_command(OUTPUT ${object}
		COMMAND ${VS_NVCC} ${nvcc_flags} ${ARGN} -MD -MF ${object}.d
			-c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
		DEPENDS ${source}
		DEPFILE ${object}.d
		VERBATIM)
	set(${out} ${object} PARENT_SCOPE)
endfunction()

# e2e_link(file variant object...): a program, or a library if it is called so.
function(e2e_link file variant)
	set(kind)
	if(file MATCHES "[.]so$")
		set(kind -shared)
	endif()
	add_custom_command(OUTPUT ${e2e_out}/${file}
		COMMAND ${VS_NVCC} ${nvcc_link} ${link_${variant}} ${kind} ${ARGN}
			-o ${e2e_out}/${file} ${library_${variant}} ${e2e_libraries}
		DEPENDS ${ARGN} softgpu_cudart_static ${archive}
		VERBATIM)
	set(e2e_files ${e2e_files} ${e2e_out}/${file} PARENT_SCOPE)
endfunction()

# e2e_link_device(out name object...): relocatable device code, linked. nvcc does that by itself, but
# not with -cudart none.
function(e2e_link_device out name)
	set(object ${e2e_out}/${name}.dlink.o)
	add_custom_command(OUTPUT ${object}
		COMMAND ${VS_NVCC} ${nvcc_link} -Xcompiler=-fPIC -dlink ${ARGN} -o ${object}
		DEPENDS ${ARGN}
		VERBATIM)
	set(${out} ${object} PARENT_SCOPE)
endfunction()

# e2e_test(name variant [ENV K=V ...] [ARGUMENTS ...])
function(e2e_test name variant)
	cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ENV;ARGUMENTS")
	set(command ${e2e_out}/${name}.${variant})
	set(env E2E_STANDINS=${VS_SOFTGPU_OUT} E2E_RUNTIME=shared ${arg_ENV})
	set(labels)
	if(variant STREQUAL "audit")
		list(PREPEND command bash ${launcher})
		list(APPEND env SOFTGPU_LIBDIR=${VS_SOFTGPU_OUT} LD_LIBRARY_PATH=)
		set(labels noasan)
	elseif(variant STREQUAL "static")
		list(APPEND env E2E_RUNTIME=static)
	endif()
	vs_register_test(NAME ${name}.${variant} COMMAND ${command} ${arg_ARGUMENTS}
		ENV ${env} LABELS ${labels})
endfunction()

# e2e_program(name [FLAGS ...] [SOURCES more.cu ...] [ENV K=V ...])
macro(e2e_program name)
	cmake_parse_arguments(program "" "" "FLAGS;SOURCES;ENV" ${ARGN})
	set(objects)
	foreach(source ${name}.cu ${program_SOURCES})
		e2e_compile(object ${source} ${program_FLAGS})
		list(APPEND objects ${object})
	endforeach()
	foreach(variant ${e2e_variants})
		if(variant STREQUAL "static" AND "-rdc=true" IN_LIST program_FLAGS)
			e2e_link_device(object ${name} ${objects})
			list(APPEND objects ${object})
		endif()
		e2e_link(${name}.${variant} ${variant} ${objects})
	endforeach()
	if(NOT ${name} STREQUAL "e2e_modules")
		foreach(variant ${e2e_variants})
			e2e_test(${name} ${variant} ENV ${program_ENV})
		endforeach()
	endif()
endmacro()

e2e_program(e2e_vector_add)
e2e_program(e2e_streams)
e2e_program(e2e_per_thread FLAGS --default-stream=per-thread)
e2e_program(e2e_pitched)
e2e_program(e2e_symbols FLAGS -no-compress)
e2e_program(e2e_compressed FLAGS -compress-mode=size)
e2e_program(e2e_graphs)
e2e_program(e2e_graphs_per_thread FLAGS --default-stream=per-thread)
e2e_program(e2e_pools)
e2e_program(e2e_occupancy)
e2e_program(e2e_errors)
set(e2e_libraries -lcuda) # of the toolkit's stubs, to link with
e2e_program(e2e_driver)
set(e2e_libraries)
e2e_program(e2e_devices ENV SOFTGPU_DEVICES=2)
e2e_program(e2e_arrays ENV SOFTGPU_DEVICES=2)
e2e_program(e2e_exhaust ENV SOFTGPU_MEMORY=1G)
e2e_program(e2e_no_image ENV SOFTGPU_CC=80)
e2e_program(e2e_no_room ENV SOFTGPU_MEMORY=1G)
# Architectures as wheels have them: which one a card takes decides what libraries do.
e2e_program(e2e_attributes FLAGS -no-compress
	-gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80
	-gencode arch=compute_80,code=sm_86 -gencode arch=compute_90,code=[sm_90,compute_90]
	ENV E2E_BINARY=90 E2E_PTX=90)
foreach(card t4:75:75 a100-80g:80:80 rtx3090:86:80 l4:86:80 rtx4090:86:80 h200:90:90 b200:100:90)
	string(REPLACE ":" ";" card ${card})
	list(GET card 0 profile)
	list(GET card 1 binary)
	list(GET card 2 ptx)
	vs_register_test(NAME e2e_attributes.${profile} COMMAND ${e2e_out}/e2e_attributes.path
		ENV SOFTGPU_PROFILE=${profile} E2E_STANDINS=${VS_SOFTGPU_OUT} E2E_RUNTIME=shared
			E2E_BINARY=${binary} E2E_PTX=${ptx})
endforeach()
e2e_program(e2e_modules SOURCES e2e_modules_left.cu e2e_modules_right.cu)
e2e_program(e2e_relocatable FLAGS -rdc=true SOURCES e2e_relocatable_other.cu)

if(TARGET softgpu_cupti_13 AND EXISTS ${VS_CUDA_INCLUDE_DIR}/cupti.h)
	set(e2e_libraries -ldl)
	e2e_program(e2e_cupti)
	set(e2e_libraries)
endif()

# The library has the same runtime as the program; linked statically that makes two in a process.
e2e_compile(object e2e_modules_plugin.cu)
foreach(variant ${e2e_variants})
	e2e_link(e2e_modules_plugin.${variant}.so ${variant} ${object})
	e2e_test(e2e_modules ${variant} ARGUMENTS ${e2e_out}/e2e_modules_plugin.${variant}.so)
endforeach()

add_custom_target(e2e_programs ALL DEPENDS ${e2e_files})
