# One library or test program a folder, sources listed one by one, warnings as errors.

include_guard()

add_library(hybridscope_flags INTERFACE)
target_compile_options(hybridscope_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 GCC 12 warns of overlapping copies inside std::string (its bug 105329) and of strings in
  # alternatives of a std::variant that are not the active one (its bug 105562).
  target_compile_options(hybridscope_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(HYBRIDSCOPE_SANITIZE)
  target_compile_options(hybridscope_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hybridscope_flags INTERFACE -fsanitize=address,undefined)
endif()

if(HYBRIDSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HYBRIDSCOPE_FUZZ needs clang++ (libFuzzer), not ${CMAKE_CXX_COMPILER}")
  endif()
  # What a bad pointer does, AddressSanitizer sees; checking each of them first would cost a third
  # of the build.
  target_compile_options(hybridscope_flags INTERFACE
    -fsanitize=fuzzer-no-link -fno-sanitize=null,alignment,object-size,vptr,return,function)
endif()

# hybridscope_library(NAME HEADERS a.h ... SOURCES a.cpp ... LINKS lib ...)
# A library named hybridscope_NAME whose headers are included from the project root ("core/base/ids.h").
function(hybridscope_library name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;LINKS" ${ARGN})
  set(target hybridscope_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE hybridscope_flags)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${ARG_LINKS})
endfunction()

# hybridscope_test(NAME SOURCES a_test.cpp ... LINKS lib ...)
# A GoogleTest program test_NAME; each of its tests is a CTest.
function(hybridscope_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(target test_${name})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE hybridscope_flags ${ARG_LINKS} GTest::gmock_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE
    HYBRIDSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    HYBRIDSCOPE_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  gtest_discover_tests(${target} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600)
endfunction()
