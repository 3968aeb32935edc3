// What settings are called by people: the option of a command line, its short form, and a setting's
// name without the object that it is in.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

// "--mamba-cache-mode,--mode": all options of a setting, the main one first. Settings inside an
// object have the object's name in front.
std::string option_names(const Setting& setting);
// "--max-num-seqs", "--num-speculative-tokens".
std::string main_option_of(const Setting& setting);

// The setting with this path, this name alone or this short form without dashes ("mode"); null:
// there is none.
const Setting* find_setting_called(std::string_view key);
// The setting that find_setting_called() finds, also with dashes. Error: there is none; the message
// lists all.
Result<const Setting*> setting_called(std::string_view key);

}  // namespace hybridscope
