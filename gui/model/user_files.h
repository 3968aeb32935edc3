// The small files in which the workbench remembers things: read when it starts, written whole.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "gui/model/gui_settings.h"

namespace hybridscope {

// The file is there whole or as it was; folders are made, a link stays a link. Error not_available:
// a folder or the file cannot be made, in a home that is read-only say.
Status write_user_file(const std::string& path, std::string_view text);

// Without a file the defaults. Errors: io, the file cannot be read; those of read_gui_settings. The
// caller then goes on with the defaults and leaves the file alone.
Result<ReadGuiSettings> load_gui_settings(const std::string& path);
// Errors: those of write_user_file.
Status save_gui_settings(const std::string& path, const GuiSettings& settings);

}  // namespace hybridscope
