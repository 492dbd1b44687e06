/* every_itemsize.h -- every strategy once an item size, for the TILE_KIND that is set (no guard: see kernel.h). */
#define ITEMSIZE 1
#define ITEM uint8_t
#include "kernels/strategies/every_strategy.h"
#undef ITEMSIZE
#undef ITEM

#define ITEMSIZE 2
#define ITEM uint16_t
#include "kernels/strategies/every_strategy.h"
#undef ITEMSIZE
#undef ITEM

#define ITEMSIZE 4
#define ITEM uint32_t
#include "kernels/strategies/every_strategy.h"
#undef ITEMSIZE
#undef ITEM

#define ITEMSIZE 8
#define ITEM uint64_t
#include "kernels/strategies/every_strategy.h"
#undef ITEMSIZE
#undef ITEM

#define ITEMSIZE 16
#define ITEM ITEM16
#include "kernels/strategies/every_strategy.h"
#undef ITEMSIZE
#undef ITEM
