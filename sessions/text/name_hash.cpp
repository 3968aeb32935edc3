#include "sessions/text/name_hash.h"

#define XXH_INLINE_ALL
#include <fmt/core.h>
#include <link.h>
#include <xxhash.h>

#include <fstream>
#include <vector>

namespace hybridscope {
namespace {

// The file from which the code at an address was loaded.
struct FileOfCode {
  std::uintptr_t address = 0;
  std::string path = "/proc/self/exe";
};

// For dl_iterate_phdr. The program itself has no name there.
int look_into(dl_phdr_info* object, std::size_t, void* data) {
  FileOfCode& file = *static_cast<FileOfCode*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || file.address < begin ||
        file.address >= begin + segment.p_memsz)
      continue;
    if (object->dlpi_name != nullptr && *object->dlpi_name != '\0') file.path = object->dlpi_name;
    return 1;
  }
  return 0;
}

}  // namespace

Result<std::string> program_digest() {
  FileOfCode code{.address = reinterpret_cast<std::uintptr_t>(&program_digest)};
  dl_iterate_phdr(&look_into, &code);
  std::ifstream file(code.path, std::ios::binary);
  std::vector<char> bytes(std::size_t{1} << 20);
  std::uint64_t digest = 0;
  std::streamsize count = 0;
  do {
    count = file.rdbuf()->sgetn(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    digest = XXH3_64bits_withSeed(bytes.data(), static_cast<std::size_t>(count), digest);
  } while (count == static_cast<std::streamsize>(bytes.size()));
  if (!file || digest == XXH3_64bits_withSeed(nullptr, 0, 0))
    return Error{ErrorKind::not_available,
                 fmt::format("{}: the program's own file cannot be read", code.path)};
  return fmt::format("{:016x}", digest);
}

}  // namespace hybridscope
