"""The driver's functions that programs call, and LLVM text around those for memory."""

__all__ = ["BLOCKS", "DRIVER"]

#: name -> result and parameter types.
DRIVER = {
    "cuLaunchKernel": ["ptr", *(["i32"] * 7), "ptr", "ptr", "ptr"],
    "cuMemAllocAsync": ["ptr", "i64", "ptr"],
    "cuMemFreeAsync": ["ptr", "ptr"],
    "cuMemcpyDtoDAsync_v2": ["ptr", "ptr", "i64", "ptr"],
    "cuMemcpyDtoHAsync_v2": ["ptr", "ptr", "i64", "ptr"],
    "cuMemcpyHtoDAsync_v2": ["ptr", "ptr", "i64", "ptr"],
    "cuMemsetD8Async": ["ptr", "i8", "i64", "ptr"],
    "cuStreamSynchronize": ["ptr"],
}
#: Functions of the module around the driver's: `%stream` is the run's.
BLOCKS = """
define internal ptr @tjd_take(i64 %n, ptr %stream) {
  %cell = alloca ptr
  %none = icmp eq i64 %n, 0
  %size = select i1 %none, i64 1, i64 %n
  %status = call i32 @cuMemAllocAsync(ptr %cell, i64 %size, ptr %stream)
  %failed = icmp ne i32 %status, 0
  %block = load ptr, ptr %cell
  %result = select i1 %failed, ptr null, ptr %block
  ret ptr %result
}

define internal void @tjd_give(ptr %block, ptr %stream) {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %free
free:
  %status = call i32 @cuMemFreeAsync(ptr %block, ptr %stream)
  br label %done
done:
  ret void
}

define internal ptr @tjd_grow(ptr %cell, i64 %n, ptr %stream) {
  %old = load ptr, ptr %cell
  %at = getelementptr { ptr, i64 }, ptr %cell, i32 0, i32 1
  %has = load i64, ptr %at
  %twice = mul i64 %has, 2
  %more = icmp ugt i64 %twice, %n
  %size = select i1 %more, i64 %twice, i64 %n
  %block = call ptr @tjd_take(i64 %size, ptr %stream)
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %made
made:
  call void @tjd_give(ptr %old, ptr %stream)
  store ptr %block, ptr %cell
  store i64 %size, ptr %at
  br label %done
done:
  ret ptr %block
}

define internal ptr @tjd_extend(ptr %cell, i64 %used, i64 %n, ptr %stream) {
  %old = load ptr, ptr %cell
  %block = call ptr @tjd_take(i64 %n, ptr %stream)
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %made
made:
  %empty = icmp eq i64 %used, 0
  br i1 %empty, label %swap, label %copy
copy:
  %status = call i32 @cuMemcpyDtoDAsync_v2(ptr %block, ptr %old, i64 %used, ptr %stream)
  br label %swap
swap:
  call void @tjd_give(ptr %old, ptr %stream)
  store ptr %block, ptr %cell
  br label %done
done:
  ret ptr %block
}
"""
