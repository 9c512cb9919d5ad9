"""The driver's functions that programs call, and LLVM text around those for memory and graphs."""

__all__ = ["BLOCKS", "DRIVER", "GRAPHS", "GRAPH_FUNCTIONS"]

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
#: What only programs with graphs call; a driver may be older than some of these.
GRAPH_FUNCTIONS = {
    "cuCtxGetCurrent": ["ptr"],
    "cuGraphAddKernelNode_v2": ["ptr", "ptr", "ptr", "i64", "ptr"],
    "cuGraphAddNode_v2": ["ptr", "ptr", "ptr", "ptr", "i64", "ptr"],
    "cuGraphConditionalHandleCreate": ["ptr", "ptr", "ptr", "i32", "i32"],
    "cuGraphCreate": ["ptr", "i32"],
    "cuGraphDestroy": ["ptr"],
    "cuGraphExecDestroy": ["ptr"],
    "cuGraphInstantiateWithFlags": ["ptr", "ptr", "i64"],
    "cuGraphLaunch": ["ptr", "ptr"],
}
#: Functions of the module that add to a graph. `%at` is { ptr graph, ptr last }: each node waits
#: for the one that was added last. Structures lie as in cuda.h: CUDA_KERNEL_NODE_PARAMS_v2, and
#: CUgraphNodeParams with a CUDA_MEMCPY_NODE_PARAMS or a CUDA_CONDITIONAL_NODE_PARAMS in it.
GRAPHS = """
define internal i32 @tjd_node(ptr %at, ptr %f, i32 %gx, i32 %gy, i32 %bx, i32 %by, ptr %params) {
  %node = alloca ptr
  %p = alloca [9 x i64]
  store [9 x i64] zeroinitializer, ptr %p
  store ptr %f, ptr %p
  %p2 = getelementptr i32, ptr %p, i64 2
  store i32 %gx, ptr %p2
  %p3 = getelementptr i32, ptr %p, i64 3
  store i32 %gy, ptr %p3
  %p4 = getelementptr i32, ptr %p, i64 4
  store i32 1, ptr %p4
  %p5 = getelementptr i32, ptr %p, i64 5
  store i32 %bx, ptr %p5
  %p6 = getelementptr i32, ptr %p, i64 6
  store i32 %by, ptr %p6
  %p7 = getelementptr i32, ptr %p, i64 7
  store i32 1, ptr %p7
  %p10 = getelementptr i32, ptr %p, i64 10
  store ptr %params, ptr %p10
  %graph = load ptr, ptr %at
  %last = getelementptr i8, ptr %at, i64 8
  %before = load ptr, ptr %last
  %first = icmp eq ptr %before, null
  %count = select i1 %first, i64 0, i64 1
  store ptr null, ptr %node
  %status = call i32 @cuGraphAddKernelNode_v2(ptr %node, ptr %graph, ptr %last, i64 %count, ptr %p)
  %made = load ptr, ptr %node
  store ptr %made, ptr %last
  ret i32 %status
}

define internal i32 @tjd_any_node(ptr %at, ptr %p) {
  %node = alloca ptr
  %graph = load ptr, ptr %at
  %last = getelementptr i8, ptr %at, i64 8
  %before = load ptr, ptr %last
  %first = icmp eq ptr %before, null
  %count = select i1 %first, i64 0, i64 1
  store ptr null, ptr %node
  %status = call i32 @cuGraphAddNode_v2(ptr %node, ptr %graph, ptr %last, ptr null, i64 %count,
      ptr %p)
  %made = load ptr, ptr %node
  store ptr %made, ptr %last
  ret i32 %status
}

define internal i32 @tjd_copy(ptr %at, ptr %target, ptr %source, i64 %n) {
  %context = alloca ptr
  %asked = call i32 @cuCtxGetCurrent(ptr %context)
  %now = load ptr, ptr %context
  %p = alloca [32 x i64]
  store [32 x i64] zeroinitializer, ptr %p
  store i32 1, ptr %p
  %p3 = getelementptr i64, ptr %p, i64 3
  store ptr %now, ptr %p3
  %p8 = getelementptr i64, ptr %p, i64 8
  store i32 2, ptr %p8
  %p10 = getelementptr i64, ptr %p, i64 10
  store ptr %source, ptr %p10
  %p19 = getelementptr i64, ptr %p, i64 19
  store i32 2, ptr %p19
  %p21 = getelementptr i64, ptr %p, i64 21
  store ptr %target, ptr %p21
  %p26 = getelementptr i64, ptr %p, i64 26
  store i64 %n, ptr %p26
  %p27 = getelementptr i64, ptr %p, i64 27
  store i64 1, ptr %p27
  %p28 = getelementptr i64, ptr %p, i64 28
  store i64 1, ptr %p28
  %status = call i32 @tjd_any_node(ptr %at, ptr %p)
  ret i32 %status
}

define internal i32 @tjd_handle(ptr %at, ptr %handle) {
  %context = alloca ptr
  %asked = call i32 @cuCtxGetCurrent(ptr %context)
  %now = load ptr, ptr %context
  %graph = load ptr, ptr %at
  %status = call i32 @cuGraphConditionalHandleCreate(ptr %handle, ptr %graph, ptr %now, i32 0,
      i32 0)
  ret i32 %status
}

define internal i32 @tjd_condition(ptr %at, ptr %handle, i32 %kind, ptr %inner) {
  %context = alloca ptr
  %asked = call i32 @cuCtxGetCurrent(ptr %context)
  %now = load ptr, ptr %context
  %p = alloca [32 x i64]
  store [32 x i64] zeroinitializer, ptr %p
  store i32 13, ptr %p
  %h = load i64, ptr %handle
  %p2 = getelementptr i64, ptr %p, i64 2
  store i64 %h, ptr %p2
  %p3 = getelementptr i64, ptr %p, i64 3
  store i32 %kind, ptr %p3
  %p7 = getelementptr i32, ptr %p, i64 7
  store i32 1, ptr %p7
  %p5 = getelementptr i64, ptr %p, i64 5
  store ptr %now, ptr %p5
  %status = call i32 @tjd_any_node(ptr %at, ptr %p)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %done, label %made
made:
  %p4 = getelementptr i64, ptr %p, i64 4
  %bodies = load ptr, ptr %p4
  %body = load ptr, ptr %bodies
  store ptr %body, ptr %inner
  %last = getelementptr i8, ptr %inner, i64 8
  store ptr null, ptr %last
  br label %done
done:
  ret i32 %status
}

define internal i32 @tjd_run_graph(ptr %at, ptr %stream) {
  %cell = alloca ptr
  %graph = load ptr, ptr %at
  %made = call i32 @cuGraphInstantiateWithFlags(ptr %cell, ptr %graph, i64 0)
  %failed = icmp ne i32 %made, 0
  br i1 %failed, label %dropped, label %launch
launch:
  %ready = load ptr, ptr %cell
  %launched = call i32 @cuGraphLaunch(ptr %ready, ptr %stream)
  %gone = call i32 @cuGraphExecDestroy(ptr %ready)
  br label %dropped
dropped:
  %status = phi i32 [ %made, %0 ], [ %launched, %launch ]
  call void @tjd_drop_graph(ptr %at)
  ret i32 %status
}

define internal void @tjd_drop_graph(ptr %at) {
  %graph = load ptr, ptr %at
  %none = icmp eq ptr %graph, null
  br i1 %none, label %done, label %drop
drop:
  %status = call i32 @cuGraphDestroy(ptr %graph)
  store ptr null, ptr %at
  br label %done
done:
  ret void
}
"""
