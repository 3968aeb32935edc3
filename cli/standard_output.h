// Standard output holds one document or the text: what is written to "-" is never mixed.
#pragma once

#include <cstdio>
#include <initializer_list>

#include "cli/output_targets.h"
#include "core/base/result.h"

namespace hybridscope {

// Error invalid_input: two of these are "-".
Status check_one_document(std::initializer_list<OutputTarget> outputs);

// Where the text for people goes: standard error where one of these is "-".
std::FILE* text_stream(std::initializer_list<OutputTarget> outputs);

}  // namespace hybridscope
