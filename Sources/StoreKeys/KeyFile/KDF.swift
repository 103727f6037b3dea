/// The key derivation function for passphrases: scrypt with a block size of 8 and a parallelism of 1, as OWASP recommends.
public struct KDF: Sendable, Hashable, CustomStringConvertible {
  /// The supported costs. 15 takes 32 MiB and about 0.1 to 0.2 s per guess; 20 takes 1 GiB. With a higher cost, a malicious key file could
  /// exhaust memory. Using a key with another cost throws ``StoreError/Code/invalidKey``.
  public static let log2NRange = 15...20
  static var floor: Int { log2NRange.lowerBound }
  static var cap: Int { log2NRange.upperBound }
  static let blockSize = 8
  static let parallelism = 1

  /// The binary logarithm of scrypt's cost.
  public let log2N: Int
  /// Whether the range is not checked, for tests, which need no protection from guessing.
  let isUnchecked: Bool

  /// Returns scrypt with a cost of 2 to the power of `log2N`.
  ///
  /// - Parameter log2N: The logarithm of the cost. OWASP recommends 17 (128 MiB, 0.4 to 0.7 s). A value outside ``log2NRange`` causes an
  ///   error when the key is used.
  /// - Returns: The function.
  public static func scrypt(log2N: Int = 17) -> KDF { KDF(log2N: log2N, isUnchecked: false) }

  /// Returns a function with a low cost, for tests only.
  package static func cheapForTests() -> KDF { KDF(log2N: 4, isUnchecked: true) }

  /// A description such as `scrypt, N = 2^17`.
  public var description: String { "scrypt, N = 2^\(log2N)" }

  func check() throws(StoreAccessError) {
    guard isUnchecked || (Self.floor...Self.cap).contains(log2N) else {
      throw StoreAccessError(
        .invalidKey(.parameters(.scryptWork(Int(log2N), allowed: Int(Self.floor)...Int(Self.cap)))), path: nil,
        operation: .deriveKey)
    }
  }
}
