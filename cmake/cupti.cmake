# NVIDIA's public headers of CUPTI, of each release that has a stand-in: 11.8, 12 and 13.
#
# Always from the release's own packages on PyPI, whatever toolkit is installed: numbers of
# callbacks, their parameters and the layout of records differ. Fetched once, into VS_HEADERS_DIR. A
# release whose packages cannot be had is left out, with a line that says so.
#
# Sets: VS_CUPTI_RELEASES                of 11, 12 and 13 those that are there
#       VS_CUPTI_INCLUDE_DIRS_<release>  with cupti.h, cuda.h and cuda_runtime_api.h
#       VS_CUPTI_SONAME_<release>        as the real library's
#       cupti_headers                    interface target: cuda_headers, and those of CUPTI for the
#                                        recorder: the toolkit's, else those of the newest release

set(VS_CUPTI_SONAME_11 libcupti.so.11.8)
set(VS_CUPTI_SONAME_12 libcupti.so.12)
set(VS_CUPTI_SONAME_13 libcupti.so.13)
set(cupti_packages_11 nvidia-cuda-cupti-cu11==11.8.* nvidia-cuda-runtime-cu11==11.8.*)
set(cupti_packages_12 nvidia-cuda-cupti-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.*)
set(cupti_packages_13 nvidia-cuda-cupti==13.0.* nvidia-cuda-runtime==13.0.*
	nvidia-cuda-crt==13.0.*)

# fetch_cupti(out release): the include directories, or nothing. Of each wheel only its headers
# are unpacked.
function(fetch_cupti out release)
	set(dir ${VS_HEADERS_DIR}/cupti-${release})
	set(stamp ${dir}/packages.txt)
	set(packages ${cupti_packages_${release}})
	set(${out} "" PARENT_SCOPE)
	set(unpacked "")
	# Two presets may be configured at the same time.
	file(MAKE_DIRECTORY ${VS_HEADERS_DIR})
	file(LOCK ${VS_HEADERS_DIR} DIRECTORY GUARD FUNCTION)
	if(EXISTS ${stamp})
		file(READ ${stamp} unpacked)
	endif()
	if(NOT unpacked STREQUAL "${packages}")
		list(JOIN packages " " names)
		message(STATUS "Fetching header packages from PyPI: ${names}")
		file(REMOVE_RECURSE ${dir})
		file(MAKE_DIRECTORY ${dir})
		execute_process(
			COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --retries 1
				--only-binary :all: --disable-pip-version-check --dest ${dir} ${packages}
			RESULT_VARIABLE failed)
		if(failed)
			return()
		endif()
		file(GLOB wheels ${dir}/*.whl)
		foreach(wheel IN LISTS wheels)
			file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${dir}
				PATTERNS "nvidia/*/include/*")
		endforeach()
		file(REMOVE ${wheels})
		file(WRITE ${stamp} "${packages}") # last: it says that all of the above was done
	endif()
	file(GLOB includes LIST_DIRECTORIES TRUE ${dir}/nvidia/*/include)
	set(${out} ${includes} PARENT_SCOPE)
endfunction()

set(VS_CUPTI_RELEASES "")
foreach(release 11 12 13)
	fetch_cupti(VS_CUPTI_INCLUDE_DIRS_${release} ${release})
	if(VS_CUPTI_INCLUDE_DIRS_${release})
		list(APPEND VS_CUPTI_RELEASES ${release})
	else()
		message(STATUS "No CUPTI headers of CUDA ${release}: the stand-in "
			"${VS_CUPTI_SONAME_${release}} is left out")
	endif()
endforeach()

find_path(VS_CUPTI_HEADERS generated_cuda_meta.h NO_DEFAULT_PATH
	HINTS ${toolkit_include} ${toolkit_include}/../extras/CUPTI/include
		${VS_CUPTI_INCLUDE_DIRS_${VS_CUDA_MAJOR}})
if(NOT VS_CUPTI_HEADERS)
	message(FATAL_ERROR "CUPTI's headers are neither in the CUDA toolkit nor to be had from PyPI. "
		"Install them, or see to python3-pip and the network, and run ./dev setup again.")
endif()
message(STATUS "CUPTI headers: ${VS_CUPTI_HEADERS}")
# Behind cuda_headers: it may have a cuda.h of its own beside it.
add_library(cupti_headers INTERFACE)
target_include_directories(cupti_headers SYSTEM INTERFACE ${VS_CUDA_INCLUDE_DIR} ${VS_CUPTI_HEADERS})
