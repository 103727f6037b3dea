// How a passphrase is stretched.

/// The function that turns a passphrase into a key: scrypt with blocks of 8 and one lane, as OWASP advises.
public struct KDF: Sendable, Hashable, CustomStringConvertible {
  /// The least that an application may ask for: 32 MiB, about 0.1 to 0.2 s for each guess.
  static let floor = 15
  /// The most that a key file may ask for: 1 GiB. A hostile key file could exhaust the memory otherwise.
  static let cap = 20
  static let blockSize = 8
  static let parallelism = 1

  /// The logarithm of scrypt's cost.
  public let log2N: Int
  /// True in tests, which need no protection from guessing.
  let isUnchecked: Bool

  /// scrypt with a cost of 2 to the power of `log2N`.
  ///
  /// - Parameter log2N: 17 is OWASP's advice (128 MiB, 0.4 to 0.7 s); below 15 or above 20 the key is refused when it is used.
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
