// The small files in which the workbench keeps its memory: read at start, written as a whole.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "gui/model/gui_settings.h"

namespace hybridscope {

// Writes the whole file or leaves it as it was; creates folders and keeps links. Error
// not_available: a folder or the file cannot be created, in a read-only home, say.
Status write_user_file(const std::string& path, std::string_view text);

// Defaults if there is no file. Errors: io, the file cannot be read; those of read_gui_settings.
// The caller then continues with the defaults and leaves the file alone.
Result<ReadGuiSettings> load_gui_settings(const std::string& path);
// Errors: those of write_user_file.
Status save_gui_settings(const std::string& path, const GuiSettings& settings);

}  // namespace hybridscope
