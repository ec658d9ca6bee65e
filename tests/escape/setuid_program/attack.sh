before=$(id -u)
for program in /suid/id /suid/sh; do
        [ -u "$program" ] || echo "UNEXPECTED $program is not set-user-id"
done
[ "$(/suid/id -u)" = "$before" ] && echo "REFUSED suid-id" || echo "ESCAPED suid-id $(/suid/id -u)"
[ "$(/suid/sh -p -c 'id -u')" = "$before" ] && echo "REFUSED suid-sh" || echo "ESCAPED suid-sh"
[ "$before" = 1000 ] && echo "REFUSED unprivileged" || echo "ESCAPED as $before"
refused su su -c true
refused sudo sudo -n true
refused chmod chmod 4755 /suid/id
