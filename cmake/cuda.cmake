# Where NVIDIA's public headers come from, and whether there is an nvcc.
#
# An installed toolkit of our major version is used where it is complete. What it lacks, or all of it
# where there is none, comes from NVIDIA's own packages on PyPI, once, into VS_HEADERS_DIR. This file
# is the only place that decides; ./dev just configures.
#
# The stand-ins for libcudart have one release's ABI each. Their headers always come from PyPI, whatever
# toolkit is installed: VS_CUDA_RELEASES below.
#
# Sets: cuda_headers, nvml_headers   interface targets with the (system) include directories
#       VS_CUDA_INCLUDE_DIR          the directory with cuda.h
#       VS_HAVE_NVCC, VS_NVCC        whether .cu files can be compiled, and by what
#       VS_REAL_CUDART_DIR           the directory with NVIDIA's libcudart.so.13 and
#                                    libcudart_static.a, or empty; for tests only
#       VS_CUDA_RELEASES             major versions whose runtime headers are here, of 11 12 13
#       and for each of them, R:
#       cuda_headers_R               interface target: the runtime API as that release has it
#       cuda_driver_headers          goes before it where cuda.h must be the one of our driver
#       VS_CUDART_R_INCLUDE_DIR      the directory behind it
#       VS_CUDART_R_LIBRARY          NVIDIA's own libcudart of that release, or empty; for tests only
#       VS_CUDART_R_MISSING          for a release that is not here: why

set(VS_HEADERS_DIR ${CMAKE_SOURCE_DIR}/build/cuda-headers CACHE PATH
	"Where header packages are unpacked when there is no complete CUDA toolkit")
option(VS_HIDE_CUDA "Behave as if no CUDA toolkit were installed" "$ENV{VRAMSCOPE_HIDE_CUDA}")

# What everything but the older runtimes is built against.
set(VS_CUDA_MAJOR 13)
set(cuda_packages
	nvidia-cuda-runtime==13.0.* # cuda.h, cuda_runtime_api.h, libcudart.so.13, libcudart_static.a
	nvidia-cuda-crt==13.0.* # crt/host_defines.h and its like
	nvidia-cuda-profiler-api==13.0.*) # cudaProfiler.h
set(nvml_packages nvidia-nvml-dev==13.0.*)
set(cuda_header_names cuda.h cudaTypedefs.h cuda_runtime_api.h crt/host_defines.h cudaProfiler.h
	cuda_profiler_api.h)
set(nvml_header_names nvml.h)

# has_all(out dir file...): whether dir holds every one of the files.
function(has_all out dir)
	set(${out} FALSE PARENT_SCOPE)
	foreach(name IN LISTS ARGN)
		if(NOT dir OR NOT EXISTS ${dir}/${name})
			return()
		endif()
	endforeach()
	set(${out} TRUE PARENT_SCOPE)
endfunction()

# Unpacks packages into VS_HEADERS_DIR/folder unless they are there, once for all presets. Sets out to
# whether they are. A wheel is a zip file; nothing is installed and no dependency is followed.
function(fetch_packages out folder)
	set(dir ${VS_HEADERS_DIR}/${folder})
	set(stamp ${dir}/packages.txt)
	set(${out} TRUE PARENT_SCOPE)
	# Two presets may be configured at the same time.
	file(MAKE_DIRECTORY ${VS_HEADERS_DIR})
	file(LOCK ${VS_HEADERS_DIR} DIRECTORY GUARD FUNCTION)
	if(EXISTS ${stamp})
		file(READ ${stamp} unpacked)
		if(unpacked STREQUAL "${ARGN}")
			return()
		endif()
	endif()
	list(JOIN ARGN " " names)
	message(STATUS "Fetching header packages from PyPI: ${names}")
	file(REMOVE_RECURSE ${dir})
	file(MAKE_DIRECTORY ${dir})
	execute_process(
		COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --retries 2
			--only-binary :all: --disable-pip-version-check --dest ${dir} ${ARGN}
		RESULT_VARIABLE failed)
	if(failed)
		set(${out} FALSE PARENT_SCOPE)
		return()
	endif()
	file(GLOB wheels ${dir}/*.whl)
	foreach(wheel IN LISTS wheels)
		file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${dir})
	endforeach()
	file(REMOVE ${wheels})
	file(WRITE ${stamp} "${ARGN}") # last: it says that all of the above was done
endfunction()

# The same for what nothing can be built without. Sets out to the root that holds include/ and lib/.
function(need_packages out folder)
	fetch_packages(fetched ${folder} ${ARGN})
	if(NOT fetched)
		list(JOIN ARGN " " names)
		message(FATAL_ERROR "pip could not download ${names}. Install a CUDA "
			"${VS_CUDA_MAJOR} toolkit with its headers, or see to python3-pip and the "
			"network, and run ./dev setup again.")
	endif()
	set(${out} ${VS_HEADERS_DIR}/${folder}/nvidia/cu${VS_CUDA_MAJOR} PARENT_SCOPE)
endfunction()

set(VS_HAVE_NVCC FALSE)
set(VS_NVCC "")
set(toolkit_include "")
set(toolkit_lib "")
if(NOT VS_HIDE_CUDA)
	find_package(CUDAToolkit ${VS_CUDA_MAJOR} QUIET)
	if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION_MAJOR EQUAL VS_CUDA_MAJOR)
		list(GET CUDAToolkit_INCLUDE_DIRS 0 toolkit_include)
		set(toolkit_lib ${CUDAToolkit_LIBRARY_DIR})
		if(CUDAToolkit_NVCC_EXECUTABLE)
			set(VS_HAVE_NVCC TRUE)
			set(VS_NVCC ${CUDAToolkit_NVCC_EXECUTABLE})
		endif()
	endif()
endif()

has_all(complete "${toolkit_include}" ${cuda_header_names})
if(complete)
	set(VS_CUDA_INCLUDE_DIR ${toolkit_include})
	set(cuda_lib ${toolkit_lib})
else()
	need_packages(root cuda ${cuda_packages})
	set(VS_CUDA_INCLUDE_DIR ${root}/include)
	set(cuda_lib ${root}/lib)
endif()

has_all(complete "${toolkit_include}" ${nvml_header_names})
if(complete)
	set(nvml_include_dir ${toolkit_include})
else()
	# A folder of its own: it must not put a second cuda.h in front of the toolkit's.
	need_packages(root nvml ${nvml_packages})
	set(nvml_include_dir ${root}/include)
endif()

has_all(complete "${cuda_lib}" libcudart.so.${VS_CUDA_MAJOR} libcudart_static.a)
set(VS_REAL_CUDART_DIR "")
if(complete)
	set(VS_REAL_CUDART_DIR ${cuda_lib})
endif()

# A runtime has its own release's API above it and our driver's below: the driver headers are linked
# into a folder by themselves, so that nothing else of this release is seen beside.
set(driver_include_dir ${CMAKE_BINARY_DIR}/driver-headers)
file(MAKE_DIRECTORY ${driver_include_dir})
foreach(name cuda.h cudaTypedefs.h cudaProfiler.h cudaProfilerTypedefs.h)
	file(CREATE_LINK ${VS_CUDA_INCLUDE_DIR}/${name} ${driver_include_dir}/${name} SYMBOLIC)
endforeach()
add_library(cuda_driver_headers INTERFACE)
target_include_directories(cuda_driver_headers SYSTEM INTERFACE ${driver_include_dir})

# add_release(major include_dir library): what is promised above of a release.
function(add_release major include_dir library)
	add_library(cuda_headers_${major} INTERFACE)
	target_include_directories(cuda_headers_${major} SYSTEM INTERFACE ${include_dir})
	set(VS_CUDART_${major}_INCLUDE_DIR ${include_dir} PARENT_SCOPE)
	set(VS_CUDART_${major}_LIBRARY "" PARENT_SCOPE)
	if(EXISTS ${library})
		set(VS_CUDART_${major}_LIBRARY ${library} PARENT_SCOPE)
	endif()
	message(STATUS "CUDA ${major} runtime headers: ${include_dir}")
	set(VS_CUDA_RELEASES ${VS_CUDA_RELEASES} ${major} PARENT_SCOPE)
endfunction()

# One folder has it all then. crt/host_defines.h is 13's: theirs come with a compiler, 60 MB for one
# file of macros that says nothing of the ABI.
function(complete_headers root)
	file(LOCK ${VS_HEADERS_DIR} DIRECTORY GUARD FUNCTION)
	file(COPY ${root}/cuda_profiler_api/include/ DESTINATION ${root}/cuda_runtime/include)
	file(COPY ${VS_CUDA_INCLUDE_DIR}/crt/host_defines.h
		DESTINATION ${root}/cuda_runtime/include/crt)
endfunction()

set(VS_CUDA_RELEASES "")
set(runtime_packages_11 nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-profiler-api-cu11==11.8.86)
set(runtime_packages_12 nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-profiler-api-cu12==12.9.*)
set(soname_11 libcudart.so.11.0)
set(soname_12 libcudart.so.12)
foreach(major 11 12)
	fetch_packages(fetched runtime${major} ${runtime_packages_${major}})
	if(fetched)
		set(root ${VS_HEADERS_DIR}/runtime${major}/nvidia)
		complete_headers(${root})
		add_release(${major} ${root}/cuda_runtime/include
			${root}/cuda_runtime/lib/${soname_${major}})
	else()
		list(GET runtime_packages_${major} 0 name)
		set(VS_CUDART_${major}_MISSING "pip could not download ${name}")
		message(STATUS "CUDA ${major} runtime left out: ${VS_CUDART_${major}_MISSING}")
	endif()
endforeach()
fetch_packages(fetched cuda ${cuda_packages})
if(fetched)
	set(root ${VS_HEADERS_DIR}/cuda/nvidia/cu${VS_CUDA_MAJOR})
	add_release(${VS_CUDA_MAJOR} ${root}/include ${root}/lib/libcudart.so.${VS_CUDA_MAJOR})
else()
	# Better a toolkit's than none: everything else here is tested on this runtime.
	message(STATUS "CUDA ${VS_CUDA_MAJOR} runtime headers are not to be had from PyPI: "
		"the toolkit's are used")
	add_release(${VS_CUDA_MAJOR} ${VS_CUDA_INCLUDE_DIR} ${cuda_lib}/libcudart.so.${VS_CUDA_MAJOR})
endif()

add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE ${VS_CUDA_INCLUDE_DIR})
add_library(nvml_headers INTERFACE)
target_include_directories(nvml_headers SYSTEM INTERFACE ${nvml_include_dir})

message(STATUS "CUDA headers: ${VS_CUDA_INCLUDE_DIR}")
message(STATUS "NVML headers: ${nvml_include_dir}")
if(VS_HAVE_NVCC)
	message(STATUS "nvcc: ${VS_NVCC}")
else()
	message(STATUS "nvcc not found: tests that compile .cu files are skipped")
endif()
