/// The function that turns a passphrase into a key: scrypt with blocks of 8 and one lane, as OWASP advises.
public struct KDF: Sendable, Hashable, CustomStringConvertible {
  /// The costs that can be asked for: 15 takes 32 MiB and about 0.1 to 0.2 s for each guess, 20 takes 1 GiB, beyond which a hostile key file could exhaust
  /// the memory. A key with another cost is refused when it is used, with ``StoreError/Code/invalidKey``.
  public static let log2NRange = 15...20
  static var floor: Int { log2NRange.lowerBound }
  static var cap: Int { log2NRange.upperBound }
  static let blockSize = 8
  static let parallelism = 1

  /// The logarithm of scrypt's cost.
  public let log2N: Int
  /// True in tests, which need no protection from guessing.
  let isUnchecked: Bool

  /// scrypt with a cost of 2 to the power of `log2N`.
  ///
  /// - Parameter log2N: 17 is OWASP's advice (128 MiB, 0.4 to 0.7 s); outside of ``log2NRange`` the key is refused when it is used.
  /// - Returns: The function.
  public static func scrypt(log2N: Int = 17) -> KDF { KDF(log2N: log2N, isUnchecked: false) }

  /// A cost for tests only.
  package static func cheapForTests() -> KDF { KDF(log2N: 4, isUnchecked: true) }

  /// For example `scrypt, N = 2^17`.
  public var description: String { "scrypt, N = 2^\(log2N)" }

  func check() throws(StoreAccessError) {
    guard isUnchecked || (Self.floor...Self.cap).contains(log2N) else {
      throw StoreAccessError(
        .invalidKey(.parameters(.scryptWork(Int(log2N), allowed: Int(Self.floor)...Int(Self.cap)))), path: nil,
        operation: .deriveKey)
    }
  }
}
