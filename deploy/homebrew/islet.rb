# Builds Islet from source on a Mac. NOT RUN: nobody has installed it, and the server is untried on macOS. Its syntax is
# checked by script/test-deploy.
#
#   export HOMEBREW_ISLET_GIT=https://git.example.com/islet.git     # the address that you clone from
#   brew install --HEAD ./deploy/homebrew/islet.rb                  # --with-postgresql: also PostgreSQL, through libpq
#
# There is no stable version, because no release has been made.
class Islet < Formula
  desc "Server that keeps iOS Live Activities up to date"
  homepage "https://git.example.com/islet"
  license "Apache-2.0"
  head ENV.fetch("HOMEBREW_ISLET_GIT", "https://git.example.com/islet.git"), using: :git, branch: "main"

  option "with-postgresql", "Build with PostgreSQL as a database of the server"

  # The manifest has tools version 6.2.
  depends_on xcode: ["26.0", :build]
  depends_on macos: :sequoia
  if build.with? "postgresql"
    depends_on "pkgconf" => :build
    depends_on "libpq"
  end

  def install
    # SwiftPM's sandbox cannot run inside Homebrew's.
    arguments = %w[--disable-sandbox --configuration release --product islet]
    if build.with? "postgresql"
      ENV.prepend_path "PKG_CONFIG_PATH", Formula["libpq"].opt_lib/"pkgconfig"
      arguments += %w[--traits PostgreSQL]
    else
      arguments += %w[--traits Server]
    end
    system "swift", "build", *arguments
    bin.install ".build/release/islet"
    generate_completions_from_executable(bin/"islet", "--generate-completion-script")
    (var/"islet").mkpath
  end

  def caveats
    <<~TEXT
      To see it without an Apple account:
        islet serve --dev
      For `brew services`, write #{var}/islet/islet.yaml. Every key with its default is printed by:
        islet config reference
    TEXT
  end

  service do
    run [opt_bin/"islet", "serve", "--config", var/"islet/islet.yaml"]
    working_dir var/"islet"
    keep_alive true
    log_path var/"log/islet.log"
    error_log_path var/"log/islet.log"
  end

  test do
    assert_match(/^\d+\.\d+\.\d+/, shell_output("#{bin}/islet --version"))
    (testpath/"islet.yaml").write shell_output("#{bin}/islet config reference")
    # The example names a key that is not there.
    assert_match "AuthKey_ABC123DEFG.p8", shell_output("#{bin}/islet config check 2>&1", 1)
  end
end
