package import StoreKeys

/// The recovery key of an account: 256 random bits that the user keeps in printed form.
///
/// The text has the form of a store's recovery key: eight groups of eight characters of Crockford's base 32. Each group has check digits
/// that detect any changed character, swapped neighbors and swapped groups.
package struct AccountRecoveryKey: Equatable, Sendable {
  let secret: SecretBytes

  package static func random() throws -> AccountRecoveryKey { AccountRecoveryKey(secret: try Random.secret()) }

  private init(secret: SecretBytes) { self.secret = secret }

  /// Parses the printed form, in upper or lower case, with any spaces and dashes; O is read as 0, I and L as 1.
  package init(parsing text: String) throws {
    do {
      secret = try RecoveryKey.parse(text)
    } catch {
      throw Self.error(error)
    }
  }

  /// Parses the printed form in UTF-8, without a copy that cannot be wiped.
  package init(parsing text: SecretBytes) throws {
    do {
      secret = try text.withUnsafeBytes { (bytes) throws(StoreAccessError) in try RecoveryKey.parse(bytes) }
    } catch {
      throw Self.error(error)
    }
  }

  /// Returns the printed form. A `String` cannot be wiped, so do not keep it.
  package func text() throws -> String {
    do { return try RecoveryKey.text(for: secret) } catch { throw SyncCryptoError.libcrypto("recovery key") }
  }

  private static func error(_ error: StoreAccessError) -> SyncCryptoError {
    guard case .invalidKey(.malformed(let reason)) = error.kind else { return .libcrypto("recovery key") }
    switch reason {
    case .recoveryKeyGroup(let number): return .malformedRecoveryKey(.group(number))
    case .recoveryKeyLength(let count, let expected): return .malformedRecoveryKey(.length(count, expected: expected))
    default: return .malformedRecoveryKey(.character)
    }
  }
}
