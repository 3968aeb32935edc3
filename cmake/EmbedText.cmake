# cmake -DFILES=a;b -DFROM=folder -DTO=header.h -DNAMESPACE=n -P EmbedText.cmake: text files as
# string constants of a header, a.css as n::a_css. -DJOINED=name=a.js,b.js joins scripts to one,
# n::name, whose SHA-256 is n::name_sha256.

set(header "// Made by cmake/EmbedText.cmake.\n#pragma once\n\n#include <string_view>\n\n")
string(APPEND header "namespace ${NAMESPACE} {\n")
foreach(file IN LISTS FILES)
  file(READ "${FROM}/${file}" text)
  string(MAKE_C_IDENTIFIER "${file}" name)
  string(APPEND header
    "inline constexpr std::string_view ${name} = R\"embedded(${text})embedded\";\n")
endforeach()
foreach(joined IN LISTS JOINED)
  string(REGEX MATCH "^([^=]+)=(.+)$" matches "${joined}")
  set(name "${CMAKE_MATCH_1}")
  string(REPLACE "," ";" parts "${CMAKE_MATCH_2}")
  set(text "\"use strict\";\n")
  foreach(part IN LISTS parts)
    file(READ "${FROM}/${part}" one)
    string(APPEND text "${one}")
  endforeach()
  string(SHA256 digest "${text}")
  string(APPEND header
    "inline constexpr std::string_view ${name} = R\"embedded(${text})embedded\";\n"
    "inline constexpr std::string_view ${name}_sha256 = \"${digest}\";\n")
endforeach()
string(APPEND header "}  // namespace ${NAMESPACE}\n")
file(WRITE "${TO}" "${header}")
