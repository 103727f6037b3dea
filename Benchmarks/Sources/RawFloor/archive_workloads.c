// W19 and W20: the archive's package index.
#include "floor_internal.h"

const floor_workload floor_archive_workloads[] = {{0}};
const int floor_archive_workload_count = 0;
