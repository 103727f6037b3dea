import SyncCore
import XCTest
import _SyncSimulation

/// Attributes that are counters, without devices.
final class CounterTests: XCTestCase {
  private func dot(_ device: UInt64, _ time: UInt64, _ amount: Int64) -> Counter {
    Counter(adding: .integer(amount), Stamp(HybridTime(value: time), DeviceID(device)))
  }

  private func total(_ device: UInt64, _ time: UInt64, _ amount: FieldValue) -> Counter.Entry {
    Counter.Entry(DeviceID(device), HybridTime(value: time), isTotal: true, amount)
  }

  func testAmountsOfAllDevicesAreAddedOnce() {
    let counter = dot(1, 5, 3).joined(with: dot(2, 5, 4)).joined(with: dot(1, 6, -1))
    XCTAssertEqual(counter.sum, .integer(6))
    XCTAssertEqual(counter.joined(with: dot(1, 5, 3)), counter)
  }

  func testATotalCoversTheDotsOfItsDeviceUpToItsTime() throws {
    let total = try XCTUnwrap(Counter(validating: [total(1, 6, .integer(2))]))
    let counter = dot(1, 5, 3).joined(with: dot(1, 6, -1)).joined(with: dot(1, 7, 10)).joined(with: dot(2, 1, 100))
    XCTAssertEqual(counter.joined(with: total).entries.count, 3)
    XCTAssertEqual(counter.joined(with: total).sum, counter.sum)
    XCTAssertTrue(total.contains(HybridTime(value: 3), of: DeviceID(1)))
    XCTAssertFalse(total.contains(HybridTime(value: 7), of: DeviceID(1)))
    XCTAssertFalse(total.contains(HybridTime(value: 3), of: DeviceID(2)))
  }

  func testAnEmptyCounterIsNull() {
    XCTAssertEqual(Counter(.null).sum, .null)
    XCTAssertEqual(Counter(.null).fieldValue, .null)
    XCTAssertEqual(dot(1, 1, 0).sum, .integer(0))
  }

  func testIntegersOverflow() { XCTAssertEqual(dot(1, 1, .max).joined(with: dot(2, 1, 1)).sum, .integer(.min)) }

  func testSumsOfRealNumbersDoNotDependOnTheOrderOfJoins() {
    var random = SimulationRandom(46)
    for _ in 0..<1_000 {
      let dots = (0..<6).map { number in
        let amount = FieldValue.real((Double(random.number(below: 1_000_000)) * 0.1).bitPattern)
        return Counter(adding: amount, Stamp(HybridTime(value: UInt64(number / 2)), DeviceID(UInt64(number % 2))))
      }
      let sums = (0..<4).map { _ in dots.shuffled(using: &random).reduce(Counter(.null)) { $0.joined(with: $1) }.sum }
      XCTAssertEqual(Set(sums).count, 1)
    }
  }

  func testADifferenceLeadsFromOneValueToAnother() {
    let values: [FieldValue] = [.null, .integer(3), .integer(1 << 40), .integer(-2), .real(1.5.bitPattern), .real((-4.0).bitPattern)]
    for former in values {
      for value in values {
        let difference = Counter.difference(from: former, to: value)
        let sum = difference.map { former == .null ? $0 : Counter.sum(former, $0) } ?? former
        if value == .null || value == former {
          // Null counts as 0.
          XCTAssertTrue([.null, .integer(0), .real(0), former].contains(sum))
        } else if case .integer(let expected) = value, case .real(let bits) = sum {
          XCTAssertEqual(Double(bitPattern: bits), Double(expected))
        } else {
          XCTAssertEqual(sum, value)
        }
      }
    }
    XCTAssertNil(Counter.difference(from: .integer(5), to: .integer(5)))
    XCTAssertNil(Counter.difference(from: .null, to: .text("five")))
  }

  func testEntriesOutOfOrderAreNoCounter() {
    let (one, other) = (dot(1, 5, 1).entries[0], dot(1, 6, 1).entries[0])
    XCTAssertNotNil(Counter(validating: [one, other]))
    XCTAssertNil(Counter(validating: [other, one]))
    XCTAssertNil(Counter(validating: [one, one]))
    XCTAssertNil(Counter(validating: [one, total(1, 6, .integer(1))]))
    XCTAssertNil(Counter(validating: [total(1, 6, .text("one"))]))
  }
}
