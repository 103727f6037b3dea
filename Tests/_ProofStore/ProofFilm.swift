package import Foundation
import _StoreSpecification

/// A film in the notation of ``OpenStore``'s contents.
package enum ProofFilm {
  package static func line(_ title: String, year: Int?, poster: Data?, tags: [String] = []) -> String {
    let year = year.map(String.init) ?? "-"
    return "\(title) \(year) \(poster.map { "\($0.count) \(sum($0))" } ?? "-") [\(tags.sorted().joined(separator: ","))]"
  }

  private static func sum(_ data: Data) -> UInt64 {
    data.withUnsafeBytes { bytes in
      var sum: UInt64 = 0
      for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
        sum = sum &* 31 &+ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      }
      return sum
    }
  }
}
