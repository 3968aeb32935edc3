# One library or test program a folder, sources listed one by one, warnings as errors.

include_guard()

# Without contraction a product and a sum are two roundings on every machine (core/numeric).
add_library(hybridscope_flags INTERFACE)
target_compile_options(hybridscope_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 GCC 12 warns of overlapping copies inside std::string (its bug 105329) and of strings in
  # alternatives of a std::variant that are not the active one (its bug 105562).
  # It also wants every member of a designated initialiser, and a base cannot be named in one; clang
  # warns where none is designated.
  target_compile_options(hybridscope_flags INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-missing-field-initializers)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Sources that are compiled together are included, and their unnamed namespaces with them.
  target_compile_options(hybridscope_flags INTERFACE -Wno-subobject-linkage)
endif()
if(HYBRIDSCOPE_SANITIZE)
  target_compile_options(hybridscope_flags INTERFACE
    -fsanitize=${HYBRIDSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hybridscope_flags INTERFACE -fsanitize=${HYBRIDSCOPE_SANITIZE})
  # The tests start the program some thousand times. At a fixed address it starts in two thirds of
  # the time: three quarters of a million relocations are done when it is linked.
  target_link_options(hybridscope_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  add_library(hybridscope_sanitizer_options OBJECT cmake/sanitizer_options.cpp)
  set(options $<TARGET_OBJECTS:hybridscope_sanitizer_options>)
  target_sources(hybridscope_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${options}>)
endif()

# Two dozen programs with sanitizers are linked in half the time by lld.
find_program(HYBRIDSCOPE_LLD ld.lld)
if(HYBRIDSCOPE_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(hybridscope_flags INTERFACE -fuse-ld=lld)
endif()

if(HYBRIDSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HYBRIDSCOPE_FUZZ needs clang++ (libFuzzer), not ${CMAKE_CXX_COMPILER}")
  endif()
  target_compile_options(hybridscope_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What all but core and kernels is compiled with. What a bad pointer does, AddressSanitizer sees;
# checking each of them first as well would cost a quarter of the build.
add_library(hybridscope_fewer_checks INTERFACE)
if(HYBRIDSCOPE_SANITIZE MATCHES "undefined")
  target_compile_options(hybridscope_fewer_checks INTERFACE
    -fno-sanitize=null,alignment,object-size,vptr,return,pointer-overflow,function)
endif()
add_library(hybridscope_flags_above_core INTERFACE)
target_link_libraries(hybridscope_flags_above_core INTERFACE
  hybridscope_flags hybridscope_fewer_checks)  # in this order: the last word on a check counts
target_compile_options(hybridscope_flags_above_core INTERFACE $<$<CONFIG:Release>:-O2>)

# Tests of gui and cli wait for what lies below: the optimiser takes longer than it saves them.
add_library(hybridscope_unoptimised_debug INTERFACE)
target_compile_options(hybridscope_unoptimised_debug INTERFACE $<$<CONFIG:Debug>:-O0>)
if(HYBRIDSCOPE_SANITIZE)
  # A stack in a sanitizer's report names its functions without their lines, which saves a fifth of
  # compiling it; lines of optimised code are there.
  target_compile_options(hybridscope_unoptimised_debug INTERFACE -g0)
endif()

# What runs once a command, or waits for what lies below: the optimiser takes longer than it saves
# anybody, under the sanitizers as long as all the rest of compiling it.
set(hybridscope_cold cli conformance replay sessions_breakpoint sessions_cache_report sessions_diff
  sessions_explain sessions_export sessions_job sessions_judge sessions_known_bugs sessions_lessons sessions_live
  sessions_report sessions_shrink test_support)
add_library(hybridscope_less_optimised INTERFACE)
target_compile_options(hybridscope_less_optimised INTERFACE $<$<CONFIG:Release>:-O1>)
add_library(hybridscope_flags_cold INTERFACE)
target_link_libraries(hybridscope_flags_cold INTERFACE  # in this order, as above
  hybridscope_flags_above_core hybridscope_less_optimised
  $<$<NOT:$<BOOL:${HYBRIDSCOPE_FUZZ}>>:hybridscope_unoptimised_debug>)

# What the tests run little of, though users may run much of it: optimised in Release only.
# Compiling it for the tests takes less than half the time so.
set(hybridscope_waiting gui gui_model gui_web sessions_matrix sessions_plan sessions_run
  sessions_scenario sessions_traffic)
add_library(hybridscope_flags_waiting INTERFACE)
target_link_libraries(hybridscope_flags_waiting INTERFACE  # in this order, as above
  hybridscope_flags_above_core
  $<$<NOT:$<BOOL:${HYBRIDSCOPE_FUZZ}>>:hybridscope_unoptimised_debug>)

# The sanitizers watch what is tested, not the tests: compiling these would take a quarter more, and
# what a test hands on is seen where it is used. With HYBRIDSCOPE_FUZZ they watch both.
add_library(hybridscope_unwatched INTERFACE)
if(HYBRIDSCOPE_SANITIZE STREQUAL "address,undefined" AND NOT HYBRIDSCOPE_FUZZ)
  target_compile_options(hybridscope_unwatched INTERFACE -fno-sanitize=all)
endif()

# Test programs call optimised code; optimising them as well would cost a quarter more for compiling
# them, and double that under the sanitizers.
add_library(hybridscope_flags_tests INTERFACE)
target_link_libraries(hybridscope_flags_tests INTERFACE  # in this order, as above
  hybridscope_flags_above_core hybridscope_unoptimised_debug hybridscope_unwatched)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Sums of strings in optimised tests: GCC 12 sees copies outside of them (its bug 105329).
  target_compile_options(hybridscope_flags_tests INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()
# With HYBRIDSCOPE_PCH, what compiling a target starts with. Sources include what they use all the
# same: most builds have no precompiled headers.
set(hybridscope_precompiled_standard
  <algorithm> <array> <cstdint> <functional> <map> <optional> <set> <span> <string> <string_view>
  <utility> <variant> <vector>)
set(hybridscope_precompiled_libraries
  ${hybridscope_precompiled_standard} <fmt/format.h> <nlohmann/json.hpp>)
set(hybridscope_precompiled_waiting ${hybridscope_precompiled_libraries})
set(hybridscope_precompiled_cold ${hybridscope_precompiled_libraries})
set(hybridscope_precompiled_cli ${hybridscope_precompiled_libraries} <CLI/CLI.hpp>)
set(hybridscope_precompiled_tests
  ${hybridscope_precompiled_standard} <deque> <filesystem> <fstream> <random> <sstream>
  <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)

# hybridscope_precompile(TARGET NAME LINKS lib ...): TARGET starts with
# hybridscope_precompiled_NAME. It is compiled once, with the flags that LINKS gives and that all targets with one NAME share.
function(hybridscope_precompile target name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  if(NOT HYBRIDSCOPE_PCH)
    return()
  endif()
  set(precompiled hybridscope_precompiled_${name})
  if(NOT TARGET ${precompiled})
    set(source ${PROJECT_BINARY_DIR}/empty.cpp)  # a target needs a source
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${precompiled} OBJECT ${source})
    target_include_directories(${precompiled} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${precompiled} PRIVATE ${ARG_LINKS})
    target_precompile_headers(${precompiled} PRIVATE ${${precompiled}})
    get_target_property(position_independent ${target} POSITION_INDEPENDENT_CODE)
    set_target_properties(${precompiled} PROPERTIES
      POSITION_INDEPENDENT_CODE ${position_independent})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # One that comes from ccache is older than the headers it was made from may be.
      target_compile_options(${precompiled} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# hybridscope_library(NAME HEADERS a.h ... SOURCES a.cpp ... LINKS lib ...)
# A library named hybridscope_NAME whose headers are included from the project root
# ("core/base/ids.h").
function(hybridscope_library name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;LINKS" ${ARGN})
  set(target hybridscope_${name})
  if(ARG_SOURCES)
    add_library(${target} STATIC)
    target_sources(${target} PRIVATE ${ARG_SOURCES})
    set(scope PUBLIC)
    if(name MATCHES "^(core|kernels)_")
      target_link_libraries(${target} PRIVATE hybridscope_flags)
    elseif(name IN_LIST hybridscope_cold)
      target_link_libraries(${target} PRIVATE hybridscope_flags_cold)
    elseif(name IN_LIST hybridscope_waiting)
      target_link_libraries(${target} PRIVATE hybridscope_flags_waiting)
    else()
      target_link_libraries(${target} PRIVATE hybridscope_flags_above_core)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${ARG_LINKS})
  if(CLI11::CLI11 IN_LIST ARG_LINKS)
    hybridscope_precompile(${target} cli
      LINKS hybridscope_flags_cold fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11)
  elseif(name IN_LIST hybridscope_cold AND fmt::fmt IN_LIST ARG_LINKS)
    hybridscope_precompile(${target} cold
      LINKS hybridscope_flags_cold fmt::fmt nlohmann_json::nlohmann_json)
  elseif(name IN_LIST hybridscope_waiting AND fmt::fmt IN_LIST ARG_LINKS)
    hybridscope_precompile(${target} waiting
      LINKS hybridscope_flags_waiting fmt::fmt nlohmann_json::nlohmann_json)
  elseif(fmt::fmt IN_LIST ARG_LINKS)
    hybridscope_precompile(${target} libraries
      LINKS hybridscope_flags_above_core fmt::fmt nlohmann_json::nlohmann_json)
  endif()
endfunction()

# hybridscope_text(NAME HEADER FILES a.css ... [FROM folder] [JOINED name=a.js,b.js ...])
# Text files of the folder as constants of HEADER.h, which sources of hybridscope_NAME include as if
# it stood in their folder: what cmake/EmbedText.cmake makes of them, in namespace
# hybridscope::HEADER.
function(hybridscope_text name header)
  cmake_parse_arguments(ARG "" "FROM" "FILES;JOINED" ${ARGN})
  set(from ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FROM})
  set(joined_files ${ARG_JOINED})
  list(TRANSFORM joined_files REPLACE "^[^=]+=" "")
  string(REPLACE "," ";" joined_files "${joined_files}")
  set(files ${ARG_FILES} ${joined_files})
  list(TRANSFORM files PREPEND ${from}/)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
             OUTPUT_VARIABLE folder)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  add_custom_command(
    OUTPUT ${generated}/${folder}/${header}.h
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARG_FILES}" "-DJOINED=${ARG_JOINED}" -DFROM=${from}
            -DNAMESPACE=hybridscope::${header} -DTO=${generated}/${folder}/${header}.h
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    VERBATIM)
  target_sources(hybridscope_${name} PRIVATE ${generated}/${folder}/${header}.h)
  target_include_directories(hybridscope_${name} PRIVATE ${generated})
endfunction()

# Test programs that take longest, the longest last. CTest starts them first, so that no processor
# waits for one of them at the end.
set(hybridscope_long_tests storage gui core_engine gui_model judge sessions cli)

# Programs whose tests CTest runs in parts, and in how many: many of theirs wait for another process.
set(hybridscope_parts_of_cli 4)
set(hybridscope_parts_of_gui_model 2)
set(hybridscope_parts_of_judge 2)
set(hybridscope_parts_of_sessions 3)

# hybridscope_test(NAME SOURCES a_test.cpp ... LINKS lib ...)
# Tests of the GoogleTest program test_NAME. Folders share a program: linking dozens would take as
# long as compiling them. To CTest the program is one test, or one a part (NAME.1, NAME.2);
# gtest/NAME.xml says what became of each of its tests.
function(hybridscope_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(target test_${name})
  if(NOT TARGET ${target})
    add_executable(${target})
    # Without the Python module's flags, of which a program and its precompiled header have others.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests UNITY_BUILD_BATCH_SIZE 48)
    set_property(GLOBAL APPEND PROPERTY HYBRIDSCOPE_TEST_PROGRAMS ${target})
    target_link_libraries(${target} PRIVATE hybridscope_flags_tests GTest::gmock_main)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(${target} PRIVATE HYBRIDSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    hybridscope_precompile(${target} tests
      LINKS hybridscope_flags_tests GTest::gmock nlohmann_json::nlohmann_json)
    list(FIND hybridscope_long_tests ${name} cost)  # -1: not there
    set(parts ${hybridscope_parts_of_${name}})
    if(NOT parts)
      set(parts 1)
    endif()
    foreach(part RANGE 1 ${parts})
      set(test ${name})
      if(parts GREATER 1)
        string(APPEND test .${part})
      endif()
      math(EXPR index "${part} - 1")
      add_test(NAME ${test} COMMAND ${target} --gtest_brief=1
               --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${test}.xml)
      set_tests_properties(${test} PROPERTIES TIMEOUT 1200 COST ${cost}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
    endforeach()
  endif()
  target_sources(${target} PRIVATE ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LINKS})
endfunction()

# The static libraries of this project that `target` is linked from, but those of test code and
# CUDA. What others are made from comes first.
function(hybridscope_libraries_of target result)
  set(seen ${target})
  set(unseen ${target})
  set(libraries)
  while(unseen)
    list(POP_FRONT unseen one)
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(links ${one} ${property})
      foreach(link ${links})
        if(NOT link MATCHES "^hybridscope_" OR NOT TARGET ${link} OR link IN_LIST seen)
          continue()
        endif()
        list(APPEND seen ${link})
        list(APPEND unseen ${link})
        get_target_property(type ${link} TYPE)
        if(type STREQUAL "STATIC_LIBRARY" AND NOT link MATCHES "^hybridscope_(test|naive)_|_cuda")
          list(PREPEND libraries ${link})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

# hybridscope_take_optimised_instances(PROGRAM ...): call it when the programs have all their
# libraries. Of an instance of a template that several objects have, a program gets the first. With
# the objects of the lowest libraries before all others it runs optimised ones, which takes a
# third off the time of the tests and costs nothing. With the sanitizers, the instances of JSON's
# templates come first of all (tests/support): they halve the time of tests that read traces.
function(hybridscope_take_optimised_instances)
  foreach(program ${ARGN})
    if(HYBRIDSCOPE_SANITIZE AND HYBRIDSCOPE_TESTS)
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:hybridscope_optimised_json>)
    endif()
    hybridscope_libraries_of(${program} libraries)
    foreach(library ${libraries})
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:${library}>)
    endforeach()
  endforeach()
endfunction()
