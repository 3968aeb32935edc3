// What a metadata builder hands to the recurrent layers of one KV-cache group, whichever kind they
// are. Values only: the builders themselves are in metadata_builders.h.
#pragma once

#include <variant>

#include "core/metadata/gdn_metadata.h"
#include "core/metadata/mamba2_metadata.h"
#include "core/metadata/mamba_metadata.h"

namespace hybridscope {

using BuilderMetadata = std::variant<MambaMetadata, Mamba2Metadata, GdnMetadata>;

}  // namespace hybridscope
