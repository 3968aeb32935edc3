# CUDA is optional: without nvcc everything builds but the kernels, and the CUDA backend says so.

include_guard()
include(CheckLanguage)

set(HYBRIDSCOPE_CUDA_FOUND OFF)
if(HYBRIDSCOPE_CUDA)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Set before the language: CMake would ask for a device, or take its oldest architecture.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual" CACHE STRING "")
    endif()
    # The kernels' host code is g++'s also where the rest is built with clang.
    if(NOT CMAKE_CUDA_HOST_COMPILER)
      find_program(HYBRIDSCOPE_CUDA_HOST_COMPILER g++)
      set(CMAKE_CUDA_HOST_COMPILER ${HYBRIDSCOPE_CUDA_HOST_COMPILER})
    endif()
    enable_language(CUDA)
    set(HYBRIDSCOPE_CUDA_FOUND ON)
  endif()
endif()
if(HYBRIDSCOPE_CUDA_FOUND)
  # CMake 3.25 does not know nvcc 13's C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, "
                 "architectures ${CMAKE_CUDA_ARCHITECTURES}")
elseif(HYBRIDSCOPE_CUDA)
  message(STATUS "CUDA: not found; building without the CUDA backend")
else()
  message(STATUS "CUDA: turned off; building without the CUDA backend")
endif()

# hybridscope_cuda_library(NAME HEADERS a.h ... SOURCES a.cu b.cpp ... LINKS lib ...)
# Like hybridscope_library, of kernels: nvcc's own warnings are errors, the sanitizers stay out of
# it. Linked with the static runtime, so that a program starts where there is no CUDA.
function(hybridscope_cuda_library name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;LINKS" ${ARGN})
  set(target hybridscope_${name})
  add_library(${target} STATIC)
  target_sources(${target} PRIVATE ${ARG_SOURCES})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror>
    $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>)
  target_link_libraries(${target} PUBLIC ${ARG_LINKS} PRIVATE CUDA::cudart_static)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()
