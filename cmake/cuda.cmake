# Where NVIDIA's public headers come from, and whether there is an nvcc.
#
# An installed toolkit of our major version is used where it is complete. What it lacks, or all of it
# where there is none, comes from NVIDIA's own packages on PyPI, once, into VS_HEADERS_DIR. This file
# is the only place that decides; ./dev just configures.
#
# Sets: cuda_headers, nvml_headers   interface targets with the (system) include directories
#       VS_CUDA_INCLUDE_DIR          the directory with cuda.h
#       VS_HAVE_NVCC, VS_NVCC        whether .cu files can be compiled, and by what
#       VS_REAL_CUDART_DIR           the directory with NVIDIA's libcudart.so.13 and
#                                    libcudart_static.a, or empty; for tests only

set(VS_HEADERS_DIR ${CMAKE_SOURCE_DIR}/build/cuda-headers CACHE PATH
	"Where header packages are unpacked when there is no complete CUDA toolkit")
option(VS_HIDE_CUDA "Behave as if no CUDA toolkit were installed" "$ENV{VRAMSCOPE_HIDE_CUDA}")

# The stand-ins carry the sonames of this version (libcudart.so.13).
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

# Unpacks packages into VS_HEADERS_DIR/folder unless they are there. Sets out to the root that holds
# include/ and lib/. A wheel is a zip file; nothing is installed and no dependency is followed.
function(fetch_packages out folder)
	set(dir ${VS_HEADERS_DIR}/${folder})
	set(stamp ${dir}/packages.txt)
	set(root ${dir}/nvidia/cu${VS_CUDA_MAJOR})
	set(${out} ${root} PARENT_SCOPE)
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
		COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps
			--only-binary :all: --disable-pip-version-check --dest ${dir} ${ARGN}
		RESULT_VARIABLE failed)
	if(failed)
		message(FATAL_ERROR "pip could not download ${names}. Install a CUDA "
			"${VS_CUDA_MAJOR} toolkit with its headers, or see to python3-pip and the "
			"network, and run ./dev setup again.")
	endif()
	file(GLOB wheels ${dir}/*.whl)
	foreach(wheel IN LISTS wheels)
		file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${dir})
	endforeach()
	file(REMOVE ${wheels})
	file(WRITE ${stamp} "${ARGN}") # last: it says that all of the above was done
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
	fetch_packages(root cuda ${cuda_packages})
	set(VS_CUDA_INCLUDE_DIR ${root}/include)
	set(cuda_lib ${root}/lib)
endif()

has_all(complete "${toolkit_include}" ${nvml_header_names})
if(complete)
	set(nvml_include_dir ${toolkit_include})
else()
	# A folder of its own: it must not put a second cuda.h in front of the toolkit's.
	fetch_packages(root nvml ${nvml_packages})
	set(nvml_include_dir ${root}/include)
endif()

has_all(complete "${cuda_lib}" libcudart.so.${VS_CUDA_MAJOR} libcudart_static.a)
set(VS_REAL_CUDART_DIR "")
if(complete)
	set(VS_REAL_CUDART_DIR ${cuda_lib})
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
