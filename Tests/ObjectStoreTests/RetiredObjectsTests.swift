import ObjectStore
import XCTest
import _TestSupport

/// Objects removed from the row cache are released when no reader can still access them, and no later than one read requires.
final class RetiredObjectsTests: XCTestCase {
  private final class Removed {}

  func testOverlappingReadsRetainFewObjects() {
    let readers = ReaderCount()
    var retired = RetiredObjects()
    var maximum = 0
    var reader = readers.begin()
    for _ in 0..<10_000 {
      // The next read begins before the previous one ends.
      let next = readers.begin()
      retired.append(Removed())
      retired.release(unlessReadBy: readers)
      readers.end(reader)
      reader = next
      maximum = max(maximum, retired.count)
    }
    XCTAssertLessThanOrEqual(maximum, 8)
    readers.end(reader)
    retired.release(unlessReadBy: readers)
    XCTAssertTrue(retired.isEmpty)
  }

  func testObjectsAreReleasedAtOnceWithoutReaders() {
    let readers = ReaderCount()
    var retired = RetiredObjects()
    for _ in 0..<3 {
      for _ in 0..<100 { retired.append(Removed()) }
      XCTAssertEqual(retired.count, 100)
      retired.release(unlessReadBy: readers)
      XCTAssertEqual(retired.count, 0)
    }
  }

  func testEachReaderRetainsWhatWasRemovedDuringItsRead() {
    // Random overlapping reads: an object lives as long as a reader that began before its removal, and not much longer.
    var random = SeededGenerator(seed: 41)
    let readers = ReaderCount()
    var retired = RetiredObjects()
    var reading: [Int: Int] = [:]
    var number = 0
    struct Retained {
      weak var object: Removed?
      let readers: Set<Int>
    }
    var objects: [Retained] = []
    var releasedDuringReads = 0
    for step in 0..<50_000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0 where reading.count < 6:
        number += 1
        reading[number] = readers.begin()
      case 1 where reading.count > 1:
        // At least one reader is always active.
        guard let ended = reading.keys.sorted().randomElement(using: &random) else { continue }
        if let unit = reading.removeValue(forKey: ended) { readers.end(unit) }
      case 2:
        let object = Removed()
        objects.append(Retained(object: object, readers: Set(reading.keys)))
        retired.append(object)
      default:
        retired.release(unlessReadBy: readers)
        let released = objects.filter { $0.object == nil }
        for object in released where !object.readers.isDisjoint(with: reading.keys) {
          return XCTFail("An object was released during a read, in step \(step).")
        }
        releasedDuringReads += reading.isEmpty ? 0 : released.count
        objects.removeAll { $0.object == nil }
      }
    }
    XCTAssertGreaterThan(releasedDuringReads, 10_000)
    XCTAssertEqual(retired.count, objects.count)
    for unit in reading.values { readers.end(unit) }
    retired.release(unlessReadBy: readers)
    XCTAssertTrue(objects.allSatisfy { $0.object == nil })
  }
}
