# cmake -DFILES=a;b -DFROM=folder -DTO=header.h -DNAMESPACE=n -P EmbedText.cmake: text files as
# string constants of a header, a.css as n::a_css.

set(header "// Made by cmake/EmbedText.cmake.\n#pragma once\n\n#include <string_view>\n\n")
string(APPEND header "namespace ${NAMESPACE} {\n")
foreach(file IN LISTS FILES)
  file(READ "${FROM}/${file}" text)
  string(MAKE_C_IDENTIFIER "${file}" name)
  string(APPEND header
    "inline constexpr std::string_view ${name} = R\"embedded(${text})embedded\";\n")
endforeach()
string(APPEND header "}  // namespace ${NAMESPACE}\n")
file(WRITE "${TO}" "${header}")
