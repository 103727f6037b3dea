import Foundation
import SyncCore
import SyncCrypto

/// The names of an account's devices, by which people distinguish them.
enum DeviceNames {
  /// Returns a name that no other device has: the given one, or the first that is free of `name (2)`, `name (3)` and so on.
  static func unique(_ name: String, among others: some Collection<String>) -> String {
    let taken = Set(others)
    if !taken.contains(name) { return name }
    let base = withoutNumber(name)
    var number = 2
    while taken.contains("\(base) (\(number))") { number += 1 }
    return "\(base) (\(number))"
  }

  /// Removes the number that ``unique(_:among:)`` has added.
  private static func withoutNumber(_ name: String) -> Substring {
    guard name.hasSuffix(")"), let start = name.range(of: " (", options: .backwards), start.lowerBound > name.startIndex,
      Int(name[start.upperBound...].dropLast()) ?? 0 > 1
    else { return name[...] }
    return name[..<start.lowerBound]
  }
}

extension DeviceChain {
  /// Returns the names of the devices, except those that cannot be opened.
  func names(_ keys: AccountKeys) -> [DeviceID: String] {
    let names = certificates.compactMap { certificate in
      (try? keys.name(ofSealed: certificate.name)).map { (certificate.device, $0) }
    }
    return Dictionary(names) { _, last in last }
  }
}
