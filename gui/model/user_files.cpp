#include "gui/model/user_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "sessions/text/json_reader.h"
#include "sessions/text/output_file.h"

namespace hybridscope {
namespace fs = std::filesystem;

Status write_user_file(const std::string& path, std::string_view text) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  fs::create_directories(folder, error);
  if (error)
    return Error{ErrorKind::not_available,
                 fmt::format("cannot make the folder {}: {}", folder.string(), error.message())};
  const bool is_link = fs::is_symlink(path, error);
  const fs::path target = is_link ? fs::weakly_canonical(path, error) : fs::path(path);
  return write_output_file(error ? path : target.string(), text);
}

Result<ReadGuiSettings> load_gui_settings(const std::string& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return ReadGuiSettings{};
  const auto text = read_text_file(path);
  if (!text.ok()) return text.error();
  return read_gui_settings(text.value(), path);
}

Status save_gui_settings(const std::string& path, const GuiSettings& settings) {
  return write_user_file(path, settings_to_json(settings));
}

}  // namespace hybridscope
