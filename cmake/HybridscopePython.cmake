# The Python package's module is built where the headers of Python and pybind11 are found; under
# AddressSanitizer where the interpreter can load the runtime before all else.
# HYBRIDSCOPE_PYTHON_MODULE_FOUND: is it built? HYBRIDSCOPE_PYTHON: the interpreter that tests use.
# HYBRIDSCOPE_PYTHON_PRELOAD: the runtime that it loads first; empty: none.

include_guard()

set(HYBRIDSCOPE_PYTHON_MODULE_FOUND OFF)
set(HYBRIDSCOPE_PYTHON_PRELOAD "")
if(HYBRIDSCOPE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
    OUTPUT_VARIABLE HYBRIDSCOPE_PYTHON_PRELOAD OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(HYBRIDSCOPE_PYTHON_MODULE AND NOT HYBRIDSCOPE_FUZZ
   AND (NOT HYBRIDSCOPE_SANITIZE OR EXISTS "${HYBRIDSCOPE_PYTHON_PRELOAD}"))
  if(NOT DEFINED Python_EXECUTABLE)
    find_program(HYBRIDSCOPE_PYTHON python3 HINTS /usr/bin)
    set(Python_EXECUTABLE ${HYBRIDSCOPE_PYTHON})
  endif()
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    find_package(pybind11 2.10 QUIET CONFIG)
  endif()
  if(pybind11_FOUND)
    set(HYBRIDSCOPE_PYTHON_MODULE_FOUND ON)
    message(STATUS "Python module: Python ${Python_VERSION}, pybind11 ${pybind11_VERSION}")
    # The module is a shared library. With hidden names its calls cost what the program's do.
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    set(CMAKE_CXX_VISIBILITY_PRESET hidden)
    set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
  else()
    message(STATUS "Python module: no headers of Python or no pybind11; building without it")
  endif()
endif()
