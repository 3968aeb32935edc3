# cmake -DFILES=a.json;b/c.json -DFROM=folder -DTO=header.h -DNAMESPACE=n -P EmbedFiles.cmake: text
# files as n::kFiles, an array of EmbeddedFile in the order of FILES.

list(LENGTH FILES count)
set(header "// Made by cmake/EmbedFiles.cmake.\n#pragma once\n\n#include <array>\n\n")
string(APPEND header "#include \"sessions/text/embedded_file.h\"\n\nnamespace ${NAMESPACE} {\n")
string(APPEND header
       "inline constexpr std::array<hybridscope::EmbeddedFile, ${count}> kFiles = {{\n")
foreach(file IN LISTS FILES)
  file(READ "${FROM}/${file}" text)
  string(APPEND header "{\"${file}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(APPEND header "}};\n}  // namespace ${NAMESPACE}\n")
file(WRITE "${TO}" "${header}")
