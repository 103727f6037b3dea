import ObjectContext
import XCTest

/// The number and choice of siblings that are read with a missing object, without a store or objects.
final class ReadAheadTests: XCTestCase {
  /// Simulates reads at positions of a group of which nothing is cached.
  private func walk(
    _ positions: some Sequence<Int>, count: Int, limit: Int = 500, patience: Int = .max
  ) -> (statements: Int, rows: Int, strides: [Int]) {
    var ahead = ReadAhead()
    var known = Set<Int>()
    var (statements, strides) = (0, [Int]())
    for position in positions {
      if known.contains(position) {
        ahead.recordUse(of: position)
        continue
      }
      let miss = ahead.miss(at: position, limit: limit, patience: patience)
      known.insert(position)
      statements += 1
      strides.append(ahead.stride)
      var (next, read) = (miss.start, 0)
      while read < miss.size - 1, (0..<count).contains(next) {
        if known.insert(next).inserted { read += 1 }
        next += ahead.stride
      }
      ahead.finish(at: next, count: read)
    }
    return (statements, known.count, strides)
  }

  func testSequentialAccessQuadruplesTheBatchSize() {
    let all = walk(0..<10_000, count: 10_000)
    // 4, 16, 64, 256, and then the maximum per statement.
    XCTAssertEqual(all.statements, 4 + (10_000 - 340 + 499) / 500)
    XCTAssertEqual(all.rows, 10_000)
    XCTAssertEqual(walk(0..<4, count: 10_000).rows, 4)
  }

  func testBackwardAccessIsDetectedAtTheSecondMiss() {
    let all = walk((0..<10_000).reversed(), count: 10_000)
    XCTAssertLessThanOrEqual(all.statements, 26)
    XCTAssertEqual(all.rows, 10_000)
    XCTAssertEqual(all.strides[1], -1)
    // From the middle, the first batch is on the wrong side.
    XCTAssertEqual(walk((0..<5_000).reversed(), count: 10_000).rows, 5_003)
  }

  func testStridedAccessIsReadWithItsStride() {
    for start in [0, 7] {
      let tenth = walk(stride(from: start, to: 10_000, by: 10), count: 10_000)
      XCTAssertLessThanOrEqual(tenth.statements, 8)
      XCTAssertLessThanOrEqual(tenth.rows, 1_003)
    }
    let back = walk(stride(from: 9_990, through: 0, by: -10), count: 10_000)
    XCTAssertLessThanOrEqual(back.rows, 1_003)
    XCTAssertLessThanOrEqual(back.statements, 8)
    for step in [2, 3, 100] {
      let some = walk(stride(from: 0, to: 10_000, by: step), count: 10_000)
      XCTAssertLessThanOrEqual(some.rows, 10_000 / step + 10, "steps of \(step)")
      XCTAssertLessThanOrEqual(some.statements, 18, "steps of \(step)")
    }
  }

  func testStridesAreDetectedWithSomeObjectsLoaded() {
    // As with authors of several books: of every hundredth position, nearly half need nothing.
    var generator = SystemRandomNumberGenerator()
    let positions = stride(from: 0, to: 100_000, by: 100).filter { _ in Bool.random(using: &generator) }
    let some = walk(positions, count: 100_000)
    XCTAssertLessThanOrEqual(some.statements, positions.count / 4)
    XCTAssertLessThanOrEqual(some.rows, 1_100)
  }

  func testRandomAccessReadsFewAdditionalObjects() {
    let random = (0..<100_000).shuffled().prefix(2_000)
    let some = walk(random, count: 100_000)
    XCTAssertLessThanOrEqual(some.rows, random.count * 3 / 2)
  }

  func testExtensiveRandomAccessReadsLargeBatches() {
    let all = walk((0..<10_000).shuffled(), count: 10_000, patience: 64)
    XCTAssertEqual(all.rows, 10_000)
    XCTAssertLessThanOrEqual(all.statements, 400)
    let some = walk((0..<100_000).shuffled().prefix(60), count: 100_000, patience: 64)
    XCTAssertLessThanOrEqual(some.rows, 70)
    // For any length, the number of rows per statement is limited.
    let many = walk((0..<1_000_000).shuffled().prefix(2_000), count: 1_000_000, patience: 64)
    XCTAssertLessThanOrEqual(many.rows, 2_000 * 65 + 500)
  }

  func testAccessThatJumpsRestartsBatchGrowth() {
    let positions = Array(0..<1_000) + Array(50_000..<51_000)
    let all = walk(positions, count: 100_000)
    XCTAssertLessThanOrEqual(all.statements, 14)
    XCTAssertLessThanOrEqual(all.rows, positions.count + 1_000)
  }

  func testBatchSizeIsBounded() {
    XCTAssertEqual(walk(0..<1_000, count: 1_000, limit: 1).statements, 1_000)
    XCTAssertEqual(walk(0..<1_000, count: 1_000, limit: 10).statements, 101)
  }
}
