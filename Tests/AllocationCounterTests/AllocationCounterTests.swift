import XCTest
import _AllocationCounter

/// The counter of allocations and retains that other tests use. On systems where it cannot count, there is nothing to test.
final class AllocationCounterTests: XCTestCase {
  private final class Leaf {
    var next: Leaf?
  }

  func testAllocationsAndTheirBytesAreCounted() {
    guard allocation_counter_counts_allocations() else { return }
    var blocks = [UnsafeMutableRawPointer?](repeating: nil, count: 100)
    allocation_counter_start()
    for index in blocks.indices { blocks[index] = malloc(1_000) }
    for block in blocks { free(block) }
    let counts = allocation_counter_stop()
    XCTAssertGreaterThanOrEqual(counts.allocations, 100)
    XCTAssertGreaterThanOrEqual(counts.bytes, 100_000)
    XCTAssertGreaterThanOrEqual(counts.frees, 100)
  }

  func testAlignedBlocksAreCountedAndAligned() {
    guard allocation_counter_counts_allocations() else { return }
    allocation_counter_start()
    var block: UnsafeMutableRawPointer?
    let status = posix_memalign(&block, 4_096, 100)
    let other = aligned_alloc(64, 128)
    let counts = allocation_counter_stop()
    XCTAssertEqual(status, 0)
    XCTAssertEqual(Int(bitPattern: block) % 4_096, 0)
    XCTAssertEqual(Int(bitPattern: other) % 64, 0)
    XCTAssertGreaterThanOrEqual(counts.allocations, 2)
    free(block)
    free(other)
    XCTAssertEqual(posix_memalign(&block, 3, 100), EINVAL)
  }

  func testSwiftObjectsAreAllocatedByMalloc() {
    guard allocation_counter_counts_allocations() else { return }
    var leaves: [Leaf] = []
    leaves.reserveCapacity(100)
    allocation_counter_start()
    for _ in 0..<100 { leaves.append(Leaf()) }
    let counts = allocation_counter_stop()
    XCTAssertEqual(counts.allocations, 100)
    XCTAssertEqual(leaves.count, 100)
  }

  func testRetainsAreCounted() {
    guard allocation_counter_counts_retains() else { return }
    let leaf = Leaf()
    var leaves: [Leaf] = []
    leaves.reserveCapacity(100)
    allocation_counter_start_with_retains()
    for _ in 0..<100 { leaves.append(leaf) }
    leaves.removeAll(keepingCapacity: true)
    let counts = allocation_counter_stop()
    XCTAssertGreaterThanOrEqual(counts.retains, 100)
    XCTAssertGreaterThanOrEqual(counts.releases, 100)
    withExtendedLifetime(leaf) {}
  }

  func testStringsOfAllLengthsAreUnchangedWhileCounting() {
    guard allocation_counter_counts_retains() else { return }
    var texts: [String] = []
    texts.reserveCapacity(100)
    allocation_counter_start_with_retains()
    for length in 0..<40 { texts.append(String(repeating: "~", count: length)) }
    texts += ["a", "a literal that is longer than fifteen bytes"]
    let copies = texts.map { [$0, $0] }
    _ = allocation_counter_stop()
    XCTAssertEqual(copies.count, 42)
    XCTAssertEqual(copies[39], [texts[39], texts[39]])
  }

  func testNothingIsCountedAfterCountingEnds() {
    guard allocation_counter_counts_allocations() else { return }
    allocation_counter_start()
    _ = allocation_counter_stop()
    let block = malloc(100)
    free(block)
    allocation_counter_start()
    let counts = allocation_counter_stop()
    XCTAssertEqual(counts.allocations, 0)
  }
}
